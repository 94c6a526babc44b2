select json_build_object('retires_at', postrider.retire_signing_key($1::text, $2::text, coalesce($3::text, '0')::interval)) as item;
