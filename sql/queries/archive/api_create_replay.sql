select json_build_object('id', postrider.create_replay(
    p_endpoint_name => $1::text,
    p_from_ts => $2::text::timestamptz,
    p_to_ts => $3::text::timestamptz,
    p_status => $4::text,
    p_event_type => $5::text,
    p_filter => $6::text::jsonb,
    p_rate => $7::integer)) as item;
