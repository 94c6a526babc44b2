select postrider.retry_delivery($1::bigint, $2::text);
