select postrider.cordon_worker($1::text);
