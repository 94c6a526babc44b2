select json_build_object('count', postrider.fail_delivery($1::bigint, $2::text, $3::text)) as item;
