select json_build_object('is_changed', postrider.pause_endpoint($1::text)) as item;
