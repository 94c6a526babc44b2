select postrider.pause_schedule($1::text);
