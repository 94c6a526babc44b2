-- postrider.probe_worker(worker_id) → its health
--
-- Internal. Looks at its last 50 attempts, as far as they ended in the last 5 minutes, and at what waits
-- for it. Degraded from 3 failures in a row, a rate of 0.3 among at least 10, or 50 waiting; unhealthy
-- from 10, 0.7 or 100. What a worker gave back, what was cancelled, and executions that it never got to
-- start do not count. Uses execution_end_worker, live_execution_worker.
create or replace function postrider.probe_worker(p_worker_id integer)
returns table (
    health text,
    failure_streak integer,
    failure_rate real,
    queue_depth integer)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
    with recent as materialized (
        select n.status <> 'completed' as is_failure, n.position
        from (
            select t.status, t.started_at, t.ended_at, row_number() over (order by t.id desc) as position
            from (
                select f.id, f.status, f.started_at, f.ended_at
                from postrider.execution_end f
                -- Read from the end of what is this worker's: that of all looks cheaper where others end much.
                where f.worker_id between p_worker_id and p_worker_id
                order by f.worker_id desc, f.id desc
                limit 50
            ) t
        ) n
        where n.status in ('completed', 'failed', 'timeout')
        and n.started_at is not null
        and n.ended_at > clock_timestamp() - interval '5 minutes'
    ), figures as (
        select
            (count(*) filter (where r.is_failure and r.position < s.first_success))::integer as failure_streak,
            (case
                when count(*) >= 10 then count(*) filter (where r.is_failure)::real / count(*)
                else 0
            end)::real as failure_rate
        from recent r
        cross join (
            select coalesce(min(q.position) filter (where not q.is_failure), 51) as first_success
            from recent q
        ) s
    ), waiting as (
        select count(*)::integer as queue_depth
        from (
            select
            from postrider.live_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.worker_id = p_worker_id
                and l.status = 'scheduled'
                limit 10000
            ) l
            limit 10000
        ) l
    )
    select
        case
            when f.failure_streak >= 10 or f.failure_rate >= 0.7::real or w.queue_depth >= 100 then 'unhealthy'
            when f.failure_streak >= 3 or f.failure_rate >= 0.3::real or w.queue_depth >= 50 then 'degraded'
            else 'healthy'
        end,
        f.failure_streak, f.failure_rate, w.queue_depth
    from figures f
    cross join waiting w;
$$;
