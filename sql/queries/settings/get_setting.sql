select postrider.get_setting($1::text);
