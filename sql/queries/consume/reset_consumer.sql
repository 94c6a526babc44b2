select postrider.reset_consumer($1::text, $2::text);
