-- postrider.overdue_deliveries() → for each endpoint that could be sent to, since when something of it
-- could have been attempted and was not
--
-- Internal. Of endpoints that are enabled, not paused, and whose circuit breaker is closed: of what
-- nobody has read, what dispatchers have passed over in the log, and what waits and is due and in
-- nobody's hands. Never before the endpoint could be sent to. `is_moving`: something was attempted there
-- within the last minute, so it is slow, and not forgotten. Looks at the five first waiting
-- deliveries of each endpoint and shard. Uses deferred_due.
create or replace function postrider.overdue_deliveries()
returns table (endpoint_name text, kind text, since timestamptz, is_moving boolean)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
    with recursive waiting (endpoint_id) as (
        (
            select d.endpoint_id
            from postrider.deferred d
            order by d.endpoint_id
            limit 1
        )
        union all
        select (
            select d.endpoint_id
            from postrider.deferred d
            where d.endpoint_id > w.endpoint_id
            order by d.endpoint_id
            limit 1
        )
        from waiting w
        where w.endpoint_id is not null
    ), known (endpoint_id, kind, since) as (
        select u.endpoint_id, 'not read', u.due_since
        from postrider.unread_messages() u
        union all
        select p.endpoint_id, 'passed over', p.passed_since
        from (
            select
                (p.value ->> 0)::integer as endpoint_id,
                timestamptz 'epoch'
                + (p.value ->> 3)::double precision * interval '1 microsecond' as passed_since
            from postrider.shard_reports() r
            cross join lateral jsonb_array_elements(r.statistics -> 'pending') p
        ) p
        union all
        select w.endpoint_id, 'waiting', first.run_at
        from waiting w
        cross join postrider.shard s
        cross join lateral (
            select min(d.run_at) as run_at
            from (
                select f.message_id, f.target, f.retry_count, f.run_at
                from postrider.deferred f
                where f.endpoint_id = w.endpoint_id
                and f.shard = s.shard
                and f.run_at <= (select clock_timestamp())
                order by f.run_at
                limit 5
            ) d
            where not postrider.is_claimed(d.message_id, d.target, d.retry_count)
        ) first
    )
    select
        e.name, (array_agg(k.kind order by k.since))[1],
        greatest(min(k.since), e.updated_at, c.since, c.paused_until),
        coalesce(
            greatest(c.last_success_at, c.last_failure_at) > clock_timestamp() - interval '1 minute',
            false)
    from known k
    join postrider.endpoints e on e.id = k.endpoint_id
    left join postrider.circuit c on c.endpoint_id = e.id
    where k.since <= clock_timestamp()
    and e.enabled
    and not e.paused
    and coalesce(c.state, 'closed') = 'closed'
    and (c.paused_until is null or c.paused_until <= clock_timestamp())
    group by e.id, c.endpoint_id;
$$;
