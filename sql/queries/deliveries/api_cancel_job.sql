select json_build_object('is_cancelled', postrider.cancel_job($1::bigint)) as item;
