-- The next page of a look that does not fit into one, in order of id: what the snapshot $2 sees and the
-- snapshot $1 did not.
--   $1, $2 text: snapshots                        $3 bigint: at most so many messages
--   $4 text[]: patterns of event types, or null   $5 text: a filter, or null
--   $6 bigint: from this id on                    $7 text: created at or after, or null
-- Index: message_id.
select
    n.id, to_char(n.created_at, 'YYYY-MM-DD HH24:MI:SS.MS') as at,
    coalesce(n.event_type, e.name) as about, n.ordering_key,
    coalesce(left(n.payload::text, 1000), format('%s bytes of %s', octet_length(n.body), n.content_type))
        as content,
    json_build_object(
        'id', n.id, 'transaction_id', n.xid, 'created_at', n.created_at, 'event_type', n.event_type,
        'endpoint_name', e.name, 'priority', n.priority, 'ordering_key', n.ordering_key,
        'scheduled_at', n.scheduled_at, 'correlation_id', n.correlation_id, 'headers', n.headers,
        'metadata', n.metadata, 'payload', n.payload, 'content_type', n.content_type,
        'body_bytes', octet_length(n.body))::text as message
from (
    select
        m.id, m.xid, m.created_at, m.event_type, m.targets, m.priority, m.ordering_key, m.scheduled_at,
        m.correlation_id, m.headers, m.metadata, m.payload, m.body, m.content_type
    from postrider.message m
    where m.id >= $6::bigint
    and pg_visible_in_snapshot(m.xid, $2::text::pg_snapshot)
    and not pg_visible_in_snapshot(m.xid, $1::text::pg_snapshot)
    and ($4::text[] is null or m.event_type like any ($4::text[]))
    and ($5::text is null or m.payload @> $5::text::jsonb)
    and ($7::text is null or m.created_at >= $7::text::timestamptz)
    order by m.id
    limit $3::bigint
) n
left join postrider.subscriptions s on n.event_type is null and s.id = n.targets[1]
left join postrider.endpoints e on e.id = s.endpoint_id
order by n.id;
