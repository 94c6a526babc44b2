select json_build_object('id', postrider.create_consumer(
    p_name => $1::text,
    p_event_types => $2::text[],
    p_filter => $3::text::jsonb,
    p_start => coalesce($4::text, 'beginning'),
    p_ordering => coalesce($5::text, 'commit'),
    p_partitions => coalesce($6::integer, 1))) as item;
