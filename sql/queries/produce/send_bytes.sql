-- $4: a time or null, $5: seconds from now or null. Waiting and expiry count by the database's clock.
select postrider.send_bytes(
    p_endpoint_name => $1::text,
    p_body => $2::bytea,
    p_content_type => $3::text,
    p_scheduled_at => coalesce(
        $4::text::timestamptz, now() + make_interval(secs => $5::double precision)),
    p_expires_at => now() + make_interval(secs => $6::double precision),
    p_priority => $7::smallint,
    p_ordering_key => $8::text,
    p_idempotency_key => $9::text,
    p_correlation_id => $10::uuid,
    p_headers => $11::text::jsonb,
    p_metadata => $12::text::jsonb);
