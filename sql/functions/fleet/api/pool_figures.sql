-- postrider.pool_figures() → how every pool of workers does
--
-- Application, operator, admin, monitor: the view pools calls it, health_check and metrics too. A pool is there as
-- long as a worker is in it or something waits in its queue. What is addressed to a worker counts for the
-- pool that the worker is in. Of each pool 10,000 waiting executions are looked at, and of each worker as
-- many others as its capacity and 1,000 more, so it costs the same at any backlog above. Uses
-- live_execution_waiting, live_execution_worker, execution_statistics_pkey.
create or replace function postrider.pool_figures()
returns table (
    pool text,
    active_count bigint,
    busy_count bigint,
    inactive_count bigint,
    cordoned_count bigint,
    error_count bigint,
    capacity bigint,
    free_capacity bigint,
    waiting_count bigint,
    is_waiting_in_pool boolean,
    scheduled_count bigint,
    running_count bigint,
    oldest_waiting_at timestamptz,
    oldest_scheduled_at timestamptz,
    overdue_count bigint,
    mean_duration double precision,
    scaling_signal double precision)
language sql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
    with recursive queues (queue) as (
        select ''
        union all
        select (
            select min(l.queue)
            from postrider.live_generation g
            cross join lateral (
                select l.queue
                from postrider.live_execution l
                where l.generation = g.id
                and l.status = 'requested'
                and not l.is_delayed
                and l.queue > q.queue
                order by l.queue
                limit 1
            ) l
        )
        from queues q
        where q.queue is not null
    ), present as materialized (
        select
            w.id, w.pool, w.capacity, n.scheduled_count, n.running_count, n.oldest_scheduled_at,
            n.overdue_count,
            case
                when w.status = 'inactive' or w.heartbeat_at is null or w.heartbeat_at < s.live_from
                    then 'inactive'
                when w.cordoned_at is not null then 'cordoned'
                when w.status = 'error' then 'error'
                when n.scheduled_count + n.running_count >= w.capacity then 'busy'
                else 'active'
            end as status
        from postrider.worker w
        cross join (
            select clock_timestamp() - make_interval(secs => v.value::integer) as live_from
            from postrider.setting v
            where v.name = 'worker_stale_after'
        ) s
        cross join lateral (
            select
                count(*) filter (where l.status = 'scheduled') as scheduled_count,
                count(*) filter (where l.status = 'running') as running_count,
                min(l.scheduled_at) filter (where l.status = 'scheduled') as oldest_scheduled_at,
                count(*) filter (
                    where l.status = 'scheduled'
                    and l.scheduled_at < clock_timestamp() - interval '5 minutes') as overdue_count
            from (
                select l.status, l.scheduled_at
                from postrider.live_generation g
                cross join lateral (
                    select l.status, l.scheduled_at
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.worker_id = w.id
                    limit w.capacity + 1000
                ) l
                limit w.capacity + 1000
            ) l
        ) n
    ), queued as materialized (
        select
            q.queue, q.queue like 'pool:%' as is_pool,
            case when q.queue like 'pool:%' then substr(q.queue, 6) else w.pool end as pool
        from queues q
        left join present w on 'worker:' || w.id = q.queue
        where q.queue > ''
    ), waiting as materialized (
        select p.pool, p.is_waiting_in_pool, n.waiting_count, n.oldest_waiting_at
        from (
            select q.pool, bool_or(q.is_pool) as is_waiting_in_pool
            from queued q
            where q.pool is not null
            group by q.pool
        ) p
        cross join lateral (
            select count(*) as waiting_count, min(l.requested_at) as oldest_waiting_at
            from (
                select l.requested_at
                from queued q
                cross join lateral (
                    select l.requested_at
                    from postrider.live_generation g
                    cross join lateral (
                        select l.requested_at
                        from postrider.live_execution l
                        where l.generation = g.id
                        and l.queue = q.queue
                        and l.status = 'requested'
                        and not l.is_delayed
                        limit 10000
                    ) l
                    limit 10000
                ) l
                where q.pool = p.pool
                limit 10000
            ) l
        ) n
    ), durations as materialized (
        select
            coalesce(nullif(s.pool, ''), w.pool) as pool,
            sum(s.running_seconds) / nullif(sum(s.started_count), 0) as mean_duration
        from postrider.execution_statistics s
        left join postrider.worker w on w.id = s.worker_id
        where s.hour >= date_trunc('hour', clock_timestamp(), 'UTC') - interval '1 hour'
        and s.status in ('completed', 'failed', 'timeout')
        group by 1
    ), workers as materialized (
        select
            p.pool,
            count(*) filter (where p.status = 'active') as active_count,
            count(*) filter (where p.status = 'busy') as busy_count,
            count(*) filter (where p.status = 'inactive') as inactive_count,
            count(*) filter (where p.status = 'cordoned') as cordoned_count,
            count(*) filter (where p.status = 'error') as error_count,
            coalesce(sum(p.capacity) filter (where p.status in ('active', 'busy')), 0) as capacity,
            coalesce(sum(greatest(p.capacity - p.scheduled_count - p.running_count, 0))
                filter (where p.status = 'active'), 0)::bigint as free_capacity,
            sum(p.scheduled_count)::bigint as scheduled_count,
            sum(p.running_count)::bigint as running_count,
            min(p.oldest_scheduled_at) as oldest_scheduled_at,
            sum(p.overdue_count)::bigint as overdue_count
        from present p
        group by p.pool
    )
    select
        n.pool, coalesce(w.active_count, 0), coalesce(w.busy_count, 0), coalesce(w.inactive_count, 0),
        coalesce(w.cordoned_count, 0), coalesce(w.error_count, 0), coalesce(w.capacity, 0),
        coalesce(w.free_capacity, 0), coalesce(q.waiting_count, 0),
        coalesce(q.is_waiting_in_pool, false), coalesce(w.scheduled_count, 0),
        coalesce(w.running_count, 0), q.oldest_waiting_at, w.oldest_scheduled_at,
        coalesce(w.overdue_count, 0), d.mean_duration,
        case
            when coalesce(q.waiting_count, 0) = 0 then 0
            else q.waiting_count * d.mean_duration / nullif(w.capacity, 0)
        end
    from (
        select w.pool from workers w
        union
        select q.pool from waiting q
    ) n
    left join workers w on w.pool = n.pool
    left join waiting q on q.pool = n.pool
    left join durations d on d.pool = n.pool;
$$;
