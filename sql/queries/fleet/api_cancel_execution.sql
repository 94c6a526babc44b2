select json_build_object('status', postrider.cancel_execution($1::bigint)) as item;
