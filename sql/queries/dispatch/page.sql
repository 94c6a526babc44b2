-- A page of one lane's window: what the snapshot $4 sees and the snapshot $5 did not, in order of id.
--   $1 smallint: lane        $2 bigint: after this id     $3 bigint: up to this id
--   $4 pg_snapshot: top      $5 pg_snapshot: base         $6 bigint: at most so many rows
--   $7 integer[]: targets whose messages are left to the lag   $8 boolean: only those, or all others
--   $9 integer: payloads, headers and metadata come along up to so many bytes as they are sent, others are fetched later
--   $10 integer: shards   $11 boolean: what expires is left to nobody
-- Two ways to the rows, of which the
-- lane allows one: priority 0 without a key lies in runs of 64 sequence numbers (65,536 ids) that
-- belong to one shard, and is read run by run; everything else has an index of its own. No sort above
-- either: both bring the rows in order, and the reader refuses a page that is not.
-- Indexes: message_id, message_lane_id.
select
    p.id, p.xid, p.created_at, p.scheduled_at, p.expires_at, p.priority, p.targets, p.ordering_key,
    p.has_idempotency_key, p.correlation_id, p.event_type,
    case when t.bytes <= $9 then p.headers end as headers,
    case when t.bytes <= $9 then t.payload end as payload,
    case when t.bytes <= $9 then p.body end as body,
    p.content_type,
    case when t.bytes > $9 then t.bytes end as payload_bytes,
    p.replay_of,
    case when t.bytes <= $9 then p.metadata end as metadata
from (
    select r.*
    from generate_series(
        ($2::bigint >> 16)
        + ((($1::smallint >> 4) - ($2::bigint >> 16) % $10::integer) + $10) % $10,
        $3::bigint >> 16, $10) g (run)
    cross join lateral (
        select
            m.id, m.xid, m.created_at, m.scheduled_at, m.expires_at, m.priority, m.targets,
            m.ordering_key, m.idempotency_key is not null as has_idempotency_key, m.correlation_id,
            m.event_type, m.headers, m.payload, m.body, m.content_type, m.replay_of, m.metadata
        from postrider.message m
        where m.id > greatest($2, (g.run << 16) - 1)
        and m.id <= least($3, (g.run << 16) | 65535)
        and m.lane = $1
        and pg_visible_in_snapshot(m.xid, $4)
        and not pg_visible_in_snapshot(m.xid, $5)
        and (cardinality(m.targets) = 1 and m.targets[1] = any ($7)
            and not ($11 and m.expires_at is not null)) = $8
        order by m.id
    ) r
    where ($1 & 15) = 0
    union all
    (
        select
            m.id, m.xid, m.created_at, m.scheduled_at, m.expires_at, m.priority, m.targets,
            m.ordering_key, m.idempotency_key is not null, m.correlation_id, m.event_type,
            m.headers, m.payload, m.body, m.content_type, m.replay_of, m.metadata
        from postrider.message m
        where ($1 & 15) <> 0
        and m.lane = $1
        and (m.lane & 15) <> 0
        and m.id + 0 > $2
        and m.id + 0 <= $3
        and pg_visible_in_snapshot(m.xid, $4)
        and not pg_visible_in_snapshot(m.xid, $5)
        and (cardinality(m.targets) = 1 and m.targets[1] = any ($7)
            and not ($11 and m.expires_at is not null)) = $8
        order by m.id + 0
    )
) p
cross join lateral (
    select
        j.payload,
        coalesce(octet_length(j.payload), octet_length(p.body), 0)
            + coalesce(octet_length(p.headers::text), 0)
            + coalesce(octet_length(p.metadata::text), 0) as bytes
    from (select p.payload::text as payload offset 0) j
    offset 0
) t
limit $6;
