select json_build_object('items', array(select row_to_json(h) from postrider.health_check() h)) as item;
