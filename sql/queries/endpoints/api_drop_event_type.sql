select json_build_object('is_dropped', postrider.drop_event_type($1::text)) as item;
