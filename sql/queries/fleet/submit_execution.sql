-- $5, $6: seconds or null.
select postrider.submit_execution(
    p_action => $1::text,
    p_parameters => $2::text::jsonb,
    p_worker => $3::text,
    p_pool => $4::text,
    p_ttl => make_interval(secs => $5::double precision),
    p_timeout => make_interval(secs => $6::double precision),
    p_priority => $7::integer,
    p_max_retries => $8::integer,
    p_idempotency_key => $9::text,
    p_correlation_id => $10::uuid);
