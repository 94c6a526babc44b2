select postrider.uncordon_worker($1::text);
