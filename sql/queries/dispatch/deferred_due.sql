-- Waiting deliveries that are due, of some endpoints, oldest first.
--   $1 integer[]: endpoints   $2 bigint[]: at most so many of each   $3 smallint[]: shards
--   $4 integer: payloads, headers and metadata come along up to so many bytes as they are sent, others are fetched later
--   $5 boolean: ordering keys hold across endpoints
-- Of an ordering key only the first that waits, and whatever has expired. Indexes: deferred_due, deferred_key,
-- deferred_key_everywhere, message_id.
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
from unnest($1::integer[], $2::bigint[]) e (endpoint_id, most)
cross join lateral (
    select due.*
    from unnest($3::smallint[]) s (shard)
    cross join lateral (
        select
            w.message_id, w.target, w.endpoint_id, w.retry_count, w.recovery_count, w.run_at,
            w.is_blocked, w.message_created_at, w.expires_at, w.ordering_key
        from postrider.deferred w
        where w.endpoint_id = e.endpoint_id
        and w.shard = s.shard
        and w.run_at <= statement_timestamp()
        and (
            w.ordering_key is null
            or w.expires_at <= statement_timestamp()
            or not exists (
                select
                from postrider.deferred b
                where b.ordering_key is not null
                and (b.ordering_key, b.endpoint_id, b.message_id)
                    >= (w.ordering_key, w.endpoint_id, 0)
                and (b.ordering_key, b.endpoint_id, b.message_id)
                    < (w.ordering_key, w.endpoint_id, w.message_id)
                offset 0
            )
            and not (
                $5
                and exists (
                    select
                    from postrider.deferred b
                    where b.ordering_key || '' is not null
                    and (b.ordering_key || '', b.message_id) >= (w.ordering_key, 0)
                    and (b.ordering_key || '', b.message_id) < (w.ordering_key, w.message_id)
                    offset 0
                )
            )
        )
        order by w.run_at, w.message_id + 0
        limit e.most
    ) due
    order by due.run_at, due.message_id
    limit e.most
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
) t;
