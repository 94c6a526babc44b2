select postrider.add_signing_key($1::text, $2::text);
