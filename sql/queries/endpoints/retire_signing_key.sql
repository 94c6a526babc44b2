select postrider.retire_signing_key($1::text, $2::text, $3::text::interval)::text;
