select json_build_object('is_changed', postrider.disable_endpoint($1::text)) as item;
