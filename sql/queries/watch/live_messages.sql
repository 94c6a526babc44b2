-- What is visible now and was not at the look before: the first page of it, in order of id.
--   $1 text: the snapshot of the look before      $2 bigint: at most so many messages
--   $3 text[]: patterns of event types, or null   $4 text: a filter, or null
-- The first row is the look itself: the snapshot of this very statement. `+ 0` keeps the planner from
-- walking over ids, of which it does not know where they begin. Index: message_xid_id.
select
    pg_current_snapshot()::text as snapshot,
    null::bigint as id,
    null::text as at,
    null::text as about,
    null::text as ordering_key,
    null::text as content,
    null::text as message
union all
select
    null, n.id, to_char(n.created_at, 'YYYY-MM-DD HH24:MI:SS.MS'),
    coalesce(n.event_type, e.name), n.ordering_key,
    coalesce(left(n.payload::text, 1000), format('%s bytes of %s', octet_length(n.body), n.content_type)),
    json_build_object(
        'id', n.id, 'transaction_id', n.xid, 'created_at', n.created_at, 'event_type', n.event_type,
        'endpoint_name', e.name, 'priority', n.priority, 'ordering_key', n.ordering_key,
        'scheduled_at', n.scheduled_at, 'correlation_id', n.correlation_id, 'headers', n.headers,
        'metadata', n.metadata, 'payload', n.payload, 'content_type', n.content_type,
        'body_bytes', octet_length(n.body))::text
from (
    select r.*
    from (
        select
            m.id, m.xid, m.created_at, m.event_type, m.targets, m.priority, m.ordering_key,
            m.scheduled_at, m.correlation_id, m.headers, m.metadata, m.payload, m.body, m.content_type
        from postrider.message m
        where m.xid >= pg_snapshot_xmax($1::text::pg_snapshot)
        union all
        select
            m.id, m.xid, m.created_at, m.event_type, m.targets, m.priority, m.ordering_key,
            m.scheduled_at, m.correlation_id, m.headers, m.metadata, m.payload, m.body, m.content_type
        from postrider.message m
        where m.xid = any (array(select x.xid from pg_snapshot_xip($1::text::pg_snapshot) x (xid)))
    ) r
    where ($3::text[] is null or r.event_type like any ($3::text[]))
    and ($4::text is null or r.payload @> $4::text::jsonb)
    order by r.id + 0
    limit $2::bigint
) n
left join postrider.subscriptions s on n.event_type is null and s.id = n.targets[1]
left join postrider.endpoints e on e.id = s.endpoint_id
order by snapshot, id;
