-- Waiting deliveries that have expired, at whatever endpoint, the first to expire first. What somebody else has locked is
-- passed over: it would keep the rest out of sight.
--   $1 smallint[]: shards   $2 bigint: at most so many
-- The columns are those of deferred_due.sql, without what is sent. A row that nobody has touched since it was written has
-- no xmax, and costs no lock. Indexes: deferred_expires_at, deferred_pkey, message_id.
select
    d.message_id, d.target, d.endpoint_id, d.retry_count, d.recovery_count, d.run_at, d.is_blocked,
    coalesce(cardinality(m.targets) > 1, false) as has_many_targets, d.message_created_at,
    m.scheduled_at, d.expires_at, coalesce(m.priority, 0::smallint) as priority,
    d.ordering_key, m.idempotency_key is not null as has_idempotency_key, null::uuid as correlation_id,
    null::text as event_type, null::jsonb as headers, null::jsonb as payload, null::bytea as body,
    null::text as content_type, 0 as payload_bytes, null::bigint as replay_of, null::jsonb as metadata
from (
    select
        w.message_id, w.target, w.endpoint_id, w.retry_count, w.recovery_count, w.run_at,
        w.is_blocked, w.message_created_at, w.expires_at, w.ordering_key
    from postrider.deferred w
    where w.expires_at <= statement_timestamp()
    and w.shard = any ($1)
    and (
        w.xmax::text = '0'
        or exists (
            select
            from postrider.deferred h
            where h.message_id = w.message_id
            and h.target = w.target
            for update skip locked
        )
    )
    order by w.expires_at
    limit $2
) d
left join lateral (
    select k.targets, k.scheduled_at, k.priority, k.idempotency_key
    from postrider.message k
    where k.id >= d.message_id
    and k.id <= d.message_id
    order by k.id
    limit 1
) m on true;
