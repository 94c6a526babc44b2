select postrider.drop_schedule($1::text);
