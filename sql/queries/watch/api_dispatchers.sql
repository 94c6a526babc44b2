select json_build_object('items', array(select row_to_json(w) from postrider.get_worker_status() w)) as item;
