select json_build_object('is_valid', postrider.validate_retry_policy($1::text::jsonb)) as item;
