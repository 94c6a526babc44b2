-- One message for an endpoint. $1 endpoint, $2 payload, then the options.
--
-- Parameters have the few types that every driver knows, and are cast here; moments are microseconds
-- from the Unix epoch, waits are microseconds from the database's clock.
select array[postrider.send_with_options(
    p_endpoint_name => $1,
    p_payload => $2::jsonb,
    p_priority => $3,
    p_scheduled_at => coalesce(
        timestamptz 'epoch' + $4 * interval '1 microsecond',
        clock_timestamp() + $5 * interval '1 microsecond'),
    p_expires_at => coalesce(
        timestamptz 'epoch' + $6 * interval '1 microsecond',
        clock_timestamp() + $7 * interval '1 microsecond'),
    p_idempotency_key => $8,
    p_correlation_id => $9::uuid,
    p_ordering_key => $10,
    p_headers => $11::jsonb,
    p_metadata => $12::jsonb
)];
