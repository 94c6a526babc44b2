-- $3: sha256 of the secret, $4: an interval or null.
select postrider.create_token($1::text, $2::text, $3::bytea, $4::text::interval) as id;
