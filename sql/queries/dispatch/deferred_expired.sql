-- A page of the waiting deliveries that have expired, at whatever endpoint, in the order of (expires_at, message_id,
-- target): all of it, whoever has them, so that the next page can begin behind it, and nothing that is held hides the rest.
--   $1 smallint[]: shards   $2 bigint: so many rows   $3 timestamptz, $4 bigint, $5 integer: what is behind this place
--   $6 bigint[], $7 integer[]: messages and targets in hand. Their rows are not locked: who records their results would
--   find them locked, and take them for somebody else's
-- The columns are those of deferred_due.sql, without what is sent, and whether the row is free to be ended: of one of these
-- shards, and locked by nobody. A row that nobody has touched since it was written has no xmax, and costs no lock.
-- Indexes: deferred_expires_at, deferred_pkey, message_id.
with page as materialized (
    select
        w.message_id, w.target, w.endpoint_id, w.retry_count, w.recovery_count, w.run_at,
        w.is_blocked, w.message_created_at, w.expires_at, w.ordering_key, w.shard,
        w.xmax::text = '0' as is_untouched
    from postrider.deferred w
    where (w.expires_at, w.message_id, w.target) > ($3, $4, $5)
    and w.expires_at <= statement_timestamp()
    order by w.expires_at, w.message_id, w.target
    limit $2
)
select
    d.message_id, d.target, d.endpoint_id, d.retry_count, d.recovery_count, d.run_at, d.is_blocked,
    coalesce(cardinality(m.targets) > 1, false) as has_many_targets, d.message_created_at,
    m.scheduled_at, d.expires_at, coalesce(m.priority, 0::smallint) as priority,
    d.ordering_key, m.idempotency_key is not null as has_idempotency_key, null::uuid as correlation_id,
    null::text as event_type, null::jsonb as headers, null::jsonb as payload, null::bytea as body,
    null::text as content_type, 0 as payload_bytes, null::bigint as replay_of, null::jsonb as metadata,
    d.is_free
from (
    select
        p.*,
        p.shard = any ($1)
        and (
            p.is_untouched
            or (
                (p.message_id, p.target) not in (
                    select i.message_id, i.target
                    from unnest($6::bigint[], $7::integer[]) i (message_id, target)
                )
                and exists (
                    select
                    from postrider.deferred h
                    where h.message_id = p.message_id
                    and h.target = p.target
                    for update skip locked
                )
            )
        ) as is_free
    from page p
    offset 0
) d
left join lateral (
    select k.targets, k.scheduled_at, k.priority, k.idempotency_key
    from postrider.message k
    where d.is_free
    and k.id >= d.message_id
    and k.id <= d.message_id
    order by k.id
    limit 1
) m on true;
