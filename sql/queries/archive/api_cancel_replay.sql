select json_build_object('is_cancelled', postrider.cancel_replay($1::bigint)) as item;
