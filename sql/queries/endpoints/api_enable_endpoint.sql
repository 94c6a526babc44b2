select json_build_object('is_changed', postrider.enable_endpoint($1::text)) as item;
