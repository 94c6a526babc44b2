select json_build_object('is_cancelled', postrider.cancel_message($1::bigint)) as item;
