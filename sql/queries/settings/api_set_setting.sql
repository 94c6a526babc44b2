select json_build_object('value', postrider.set_setting($1::text, $2::text)) as item;
