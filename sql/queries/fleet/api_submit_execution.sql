-- $5, $6: intervals or null.
select json_build_object('id', postrider.submit_execution(
    p_action => $1::text,
    p_parameters => coalesce($2::text, '{}')::jsonb,
    p_worker => $3::text,
    p_pool => $4::text,
    p_ttl => $5::text::interval,
    p_timeout => $6::text::interval,
    p_priority => $7::integer,
    p_max_retries => $8::integer,
    p_idempotency_key => $9::text,
    p_correlation_id => $10::uuid)) as item;
