select postrider.drop_action($1::text);
