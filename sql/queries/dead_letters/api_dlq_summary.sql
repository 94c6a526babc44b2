select json_build_object('items', array(select row_to_json(s) from postrider.dlq_summary() s limit 10000)) as item;
