select json_build_object('is_changed', postrider.cordon_worker($1::text)) as item;
