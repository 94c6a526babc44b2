select json_build_object('count', postrider.retry_delivery($1::bigint, $2::text)) as item;
