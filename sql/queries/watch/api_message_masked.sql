-- $1: a message. What is known of it, and how far each delivery is, the first 1,000. Without what an application wrote.
-- Index: none, the views have their own.
select
    json_build_object(
        'id', $1::bigint, 'event_type', m.event_type, 'priority', m.priority, 'ordering_key', m.ordering_key,
        'correlation_id', m.correlation_id, 'scheduled_at', m.scheduled_at, 'expires_at', m.expires_at,
        'created_at', m.created_at, 'replay_of', m.replay_of,
        'deliveries', array(
            select json_build_object(
                'endpoint_name', s.endpoint_name, 'status', s.status, 'retry_count', s.retry_count,
                'next_retry_at', s.next_retry_at, 'last_error', s.last_error,
                'completed_at', s.completed_at)
            from postrider.message_status($1::bigint) s
            limit 1000)) as item
from (select) one
left join lateral (
    (
        select
            d.event_type, d.priority, d.ordering_key, d.correlation_id, d.scheduled_at, d.expires_at,
            d.created_at, d.replay_of
        from postrider.queue d
        where d.id = $1::bigint
        limit 1
    )
    union all
    (
        select
            d.event_type, d.priority, d.ordering_key, d.correlation_id, d.scheduled_at, d.expires_at,
            d.created_at, d.replay_of
        from postrider.archive d
        where d.id = $1::bigint
        limit 1
    )
    union all
    (
        select
            d.event_type, d.priority, d.ordering_key, d.correlation_id,
            null::timestamptz as scheduled_at, null::timestamptz as expires_at, d.created_at,
            null::bigint as replay_of
        from postrider.dlq d
        where d.message_id = $1::bigint
        order by d.id desc
        limit 1
    )
    limit 1
) m on true;
