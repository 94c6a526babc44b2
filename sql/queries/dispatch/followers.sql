-- The next waiting deliveries of some ordering keys, in order.
--   $1 text[]: keys   $2 integer[]: at this endpoint, or at any where ordering keys hold across them
--   $3 bigint: at most so many of each
--   $4 integer: payloads, headers and metadata come along up to so many bytes as they are sent, others are fetched later
--   $5 boolean: ordering keys hold across endpoints
-- The columns are those of deferred_due.sql. Indexes: deferred_key, deferred_key_everywhere,
-- message_id.
select
    d.message_id, d.target, d.endpoint_id, d.retry_count, d.recovery_count, d.run_at, d.is_blocked,
    coalesce(cardinality(m.targets) > 1, false) as has_many_targets, d.message_created_at,
    m.scheduled_at, d.expires_at, coalesce(m.priority, 0::smallint) as priority,
    d.ordering_key, m.idempotency_key is not null as has_idempotency_key, m.correlation_id,
    m.event_type,
    case when t.bytes <= $4 then m.headers end as headers,
    case when t.bytes <= $4 then t.payload end as payload,
    case when t.bytes <= $4 then m.body end as body,
    m.content_type,
    case when t.bytes > $4 then t.bytes end as payload_bytes,
    m.replay_of,
    case when t.bytes <= $4 then m.metadata end as metadata
from unnest($1::text[], $2::integer[]) c (ordering_key, endpoint_id)
cross join lateral (
    (
        select
            w.message_id, w.target, w.endpoint_id, w.retry_count, w.recovery_count, w.run_at,
            w.is_blocked, w.message_created_at, w.expires_at, w.ordering_key
        from postrider.deferred w
        where not $5
        and w.ordering_key is not null
        and (w.ordering_key, w.endpoint_id) >= (c.ordering_key, c.endpoint_id)
        and (w.ordering_key, w.endpoint_id) <= (c.ordering_key, c.endpoint_id)
        order by w.ordering_key, w.endpoint_id, w.message_id
        limit $3
    )
    union all
    (
        select
            w.message_id, w.target, w.endpoint_id, w.retry_count, w.recovery_count, w.run_at,
            w.is_blocked, w.message_created_at, w.expires_at, w.ordering_key
        from postrider.deferred w
        where $5
        and w.ordering_key || '' is not null
        and (w.ordering_key || '', w.message_id) >= (c.ordering_key, 0)
        and w.ordering_key || '' <= c.ordering_key
        order by w.ordering_key || '', w.message_id
        limit $3
    )
) d
left join lateral (
    select
        k.id, k.targets, k.scheduled_at, k.priority, k.idempotency_key, k.correlation_id, k.event_type,
        k.headers, k.payload, k.body, k.content_type, k.replay_of, k.metadata
    from postrider.message k
    where k.id >= d.message_id
    and k.id <= d.message_id
    order by k.id
    limit 1
) m on true
cross join lateral (
    select
        j.payload,
        coalesce(octet_length(j.payload), octet_length(m.body), 0)
            + coalesce(octet_length(m.headers::text), 0)
            + coalesce(octet_length(m.metadata::text), 0) as bytes
    from (select m.payload::text as payload offset 0) j
    offset 0
) t
order by c.ordering_key, d.message_id;
