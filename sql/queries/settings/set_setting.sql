select postrider.set_setting($1::text, $2::text);
