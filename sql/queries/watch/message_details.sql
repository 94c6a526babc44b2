-- What a message holds and says of itself, waiting or ended: one row.
--   $1 bigint: its id
-- Index: message_id.
select json_build_object(
    'id', m.id, 'event_type', m.event_type, 'created_at', m.created_at, 'scheduled_at', m.scheduled_at,
    'expires_at', m.expires_at, 'priority', m.priority, 'ordering_key', m.ordering_key,
    'idempotency_key', m.idempotency_key, 'correlation_id', m.correlation_id, 'replay_of', m.replay_of,
    'headers', m.headers, 'metadata', m.metadata, 'payload', m.payload,
    'body_bytes', octet_length(m.body), 'content_type', m.content_type)
from (
    select
        q.id, q.event_type, q.created_at, q.scheduled_at, q.expires_at, q.priority, q.ordering_key,
        q.idempotency_key, q.correlation_id, q.replay_of, q.headers, q.metadata, q.payload, q.body,
        q.content_type
    from postrider.queue q
    where q.id = $1::bigint
    union all
    select
        a.id, a.event_type, a.created_at, a.scheduled_at, a.expires_at, a.priority, a.ordering_key,
        a.idempotency_key, a.correlation_id, a.replay_of, a.headers, a.metadata, a.payload, a.body,
        a.content_type
    from postrider.archive a
    where a.id = $1::bigint
) m
limit 1;
