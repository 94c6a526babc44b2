select json_build_object('is_ended', postrider.unsubscribe($1::bigint)) as item;
