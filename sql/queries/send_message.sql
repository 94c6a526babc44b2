-- Expiry counts by the database's clock.
select postrider.send_with_options(
    p_endpoint_name => $1::text,
    p_payload => $2::text::jsonb,
    p_correlation_id => $3::uuid,
    p_expires_at => now() + make_interval(secs => $4::double precision),
    p_headers => $5::text::jsonb);
