-- $3: a time or null, $4: seconds from now or null. Waiting and expiry count by the database's clock.
select postrider.send_with_options(
    p_endpoint_name => $1::text,
    p_payload => $2::text::jsonb,
    p_scheduled_at => coalesce(
        $3::text::timestamptz, now() + make_interval(secs => $4::double precision)),
    p_expires_at => now() + make_interval(secs => $5::double precision),
    p_priority => $6::smallint,
    p_ordering_key => $7::text,
    p_idempotency_key => $8::text,
    p_correlation_id => $9::uuid,
    p_headers => $10::text::jsonb,
    p_metadata => $11::text::jsonb);
