-- Waiting deliveries that have expired, at whatever endpoint, the first to expire first, and where to go on. Looks at so
-- many rows and no more, whoever has them: what somebody else has locked is passed over, and may be any number of rows.
--   $1 smallint[]: shards   $2 bigint: so many   $3 timestamptz, $4 bigint, $5 integer: behind this place
--   $6 bigint[], $7 integer[]: messages and targets that are in hand, whose rows are not touched: who records their
--   results would find them locked
-- At least one row. Its last columns are the place up to which was looked, null at the end. The others are those of
-- deferred_due.sql, without what is sent, and null where nothing is to be ended. A row that nobody has touched since it
-- was written has no xmax, and costs no lock. Deliveries that expire at the very same time are all read for each look, and
-- not locked. The edge comes first, in the order of the index, so that no more is sorted. Indexes: deferred_expires_at,
-- deferred_pkey, message_id.
with edge as materialized (
    select max(w.expires_at) as at, count(*) = $2 as is_more
    from (
        select w.expires_at
        from postrider.deferred w
        where w.expires_at >= $3
        and w.expires_at <= statement_timestamp()
        and (w.expires_at, w.message_id, w.target) > ($3, $4, $5)
        order by w.expires_at
        limit $2
    ) w
), looked as materialized (
    select
        w.message_id, w.target, w.endpoint_id, w.retry_count, w.recovery_count, w.run_at,
        w.is_blocked, w.message_created_at, w.expires_at, w.ordering_key, w.shard,
        w.xmax::text = '0' as is_untouched
    from postrider.deferred w
    where w.expires_at >= $3
    and w.expires_at <= (select e.at from edge e)
    and (w.expires_at, w.message_id, w.target) > ($3, $4, $5)
    order by w.expires_at, w.message_id, w.target
    limit $2
), stop as materialized (
    select l.expires_at, l.message_id, l.target
    from edge e
    cross join looked l
    where e.is_more
    order by l.expires_at desc, l.message_id desc, l.target desc
    limit 1
), free as materialized (
    select l.*
    from looked l
    where l.shard = any ($1)
    and (l.message_id, l.target) not in (
        select i.message_id, i.target
        from unnest($6::bigint[], $7::integer[]) i (message_id, target)
    )
    and (
        l.is_untouched
        or exists (
            select
            from postrider.deferred h
            where h.message_id = l.message_id
            and h.target = l.target
            for update skip locked
        )
    )
)
select
    d.message_id, d.target, d.endpoint_id, d.retry_count, d.recovery_count, d.run_at, d.is_blocked,
    coalesce(cardinality(m.targets) > 1, false) as has_many_targets, d.message_created_at,
    m.scheduled_at, d.expires_at, coalesce(m.priority, 0::smallint) as priority,
    d.ordering_key, m.idempotency_key is not null as has_idempotency_key, null::uuid as correlation_id,
    null::text as event_type, null::jsonb as headers, null::jsonb as payload, null::bytea as body,
    null::text as content_type, 0 as payload_bytes, null::bigint as replay_of, null::jsonb as metadata,
    s.expires_at as stop_at, s.message_id as stop_id, s.target as stop_target
from (values (1)) one (number)
left join stop s on true
left join free d on true
left join lateral (
    select k.targets, k.scheduled_at, k.priority, k.idempotency_key
    from postrider.message k
    where k.id >= d.message_id
    and k.id <= d.message_id
    order by k.id
    limit 1
) m on true;
