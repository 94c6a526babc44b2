select json_build_object('is_dropped', postrider.drop_consumer($1::text)) as item;
