select postrider.reset_setting($1::text);
