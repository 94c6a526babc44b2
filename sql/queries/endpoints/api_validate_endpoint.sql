select json_build_object('is_valid', postrider.validate_endpoint_config($1::text, $2::text::jsonb)) as item;
