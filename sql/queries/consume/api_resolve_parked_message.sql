select json_build_object('is_resolved', postrider.resolve_parked_message($1::bigint)) as item;
