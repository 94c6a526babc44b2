-- $4: enabled or null, $5: retry policy or null.
select json_build_object('id', postrider.subscribe(
    p_event_type => $1::text,
    p_endpoint_name => $2::text,
    p_filter => $3::text::jsonb,
    p_options => jsonb_strip_nulls(
        jsonb_build_object('enabled', $4::boolean, '_retry_policy', $5::text::jsonb)))) as item;
