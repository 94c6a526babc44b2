-- One message of any bytes for an endpoint. $1 endpoint, $2 body, $13 content type, then the options.
--
-- Parameters as in send.sql.
select array[postrider.send_bytes(
    p_endpoint_name => $1,
    p_body => $2,
    p_content_type => $13,
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
