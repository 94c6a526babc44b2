select json_build_object('is_changed', postrider.uncordon_worker($1::text)) as item;
