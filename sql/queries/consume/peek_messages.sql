-- $1: a consumer, $2: how many, $3 bigint, $4 xid8 as text, $5 bigint: behind this tick or transaction,
-- and this message of it.
-- The first row is where the log ends for now; what follows is read by the same snapshot. Index: tick_id,
-- message_id; the function has its own.
select
    (select max(t.id) from postrider.tick t) as tick,
    (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text as transaction_id,
    null::bigint as id,
    null::text as at,
    null::text as about,
    null::text as ordering_key,
    null::text as content,
    null::text as message
union all
select
    m.tick, m.transaction_id::text, m.message_id,
    to_char(m.created_at, 'YYYY-MM-DD HH24:MI:SS.MS'),
    coalesce(m.message_type, (
        select e.name
        from postrider.message g
        join postrider.subscriptions s on s.id = g.targets[1]
        join postrider.endpoints e on e.id = s.endpoint_id
        where g.id = m.message_id
    )), m.ordering_key,
    coalesce(left(m.data::text, 1000), format('%s bytes of %s', octet_length(m.body), m.content_type)),
    json_build_object(
        'position', m.position, 'partition', m.partition, 'tick', m.tick,
        'transaction_id', m.transaction_id, 'message_id', m.message_id, 'message_type', m.message_type,
        'ordering_key', m.ordering_key, 'created_at', m.created_at, 'scheduled', m.scheduled,
        'correlation_id', m.correlation_id, 'headers', m.headers, 'metadata', m.metadata,
        'data', m.data, 'content_type', m.content_type, 'body_bytes', octet_length(m.body))::text
from postrider.peek_messages(
    $1::text, $2::integer, $3::bigint, $4::text::xid8, $5::bigint) m;
