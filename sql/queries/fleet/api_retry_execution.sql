select json_build_object('id', postrider.retry_execution($1::bigint)) as item;
