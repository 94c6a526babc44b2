select postrider.publish(
    p_event_type => $1::text,
    p_payload => $2::text::jsonb,
    p_priority => coalesce($3::integer, 0),
    p_scheduled_at => $4::text::timestamptz,
    p_idempotency_key => $5::text,
    p_correlation_id => $6::uuid,
    p_expires_at => $7::text::timestamptz,
    p_ordering_key => $8::text,
    p_headers => $9::text::jsonb,
    p_metadata => $10::text::jsonb);
