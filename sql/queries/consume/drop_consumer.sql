select postrider.drop_consumer($1::text);
