select json_build_object('key', postrider.reveal_signing_key($1::text, $2::text)) as item;
