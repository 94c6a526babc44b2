select postrider.create_token($1::text, $2::text, $3::bytea, make_interval(secs => $4::double precision));
