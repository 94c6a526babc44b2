select postrider.create_schedule(
    p_name => $1::text,
    p_timing => $2::text,
    p_time_zone => $3::text,
    p_endpoint_name => $4::text,
    p_event_type => $5::text,
    p_payload => $6::text::jsonb,
    p_missed => $7::text,
    p_priority => $8::integer,
    p_ordering_key => $9::text,
    p_headers => $10::text::jsonb,
    p_metadata => $11::text::jsonb,
    p_expires_in => make_interval(secs => $12::double precision));
