select postrider.drop_worker($1::text);
