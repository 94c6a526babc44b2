select json_build_object('is_dropped', postrider.drop_action($1::text)) as item;
