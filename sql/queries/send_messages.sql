select postrider.send_batch($1::text, $2::text[]::jsonb[]);
