-- One message for all who subscribe to an event type. $1 event type, $2 payload, then the options.
--
-- Parameters as in send.sql.
select array[postrider.publish(
    p_event_type => $1,
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
