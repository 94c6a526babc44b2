select json_build_object('is_reset', postrider.reset_consumer($1::text, $2::text)) as item;
