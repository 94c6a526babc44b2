select json_build_object('key', postrider.rotate_signing_key($1::text, coalesce($2::text, '24 hours')::interval)) as item;
