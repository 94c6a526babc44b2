select postrider.create_consumer(
    p_name => $1::text,
    p_event_types => $2::text[],
    p_filter => $3::text::jsonb,
    p_start => $4::text,
    p_ordering => $5::text,
    p_partitions => $6::integer);
