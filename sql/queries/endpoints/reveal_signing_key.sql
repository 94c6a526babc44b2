select postrider.reveal_signing_key($1::text, $2::text);
