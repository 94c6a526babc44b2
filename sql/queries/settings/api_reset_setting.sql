select json_build_object('value', postrider.reset_setting($1::text)) as item;
