select json_build_object('id', postrider.redrive_message($1::bigint)) as item;
