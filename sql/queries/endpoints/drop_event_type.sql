select postrider.drop_event_type($1::text);
