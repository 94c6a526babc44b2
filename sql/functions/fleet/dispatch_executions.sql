-- postrider.dispatch_executions(most) → executions that are scheduled for workers behind RabbitMQ now
--
-- Internal: the RabbitMQ carrier, in a dispatcher, which publishes them then and notes what the broker has
-- confirmed (note_published). Whatever is addressed to such a worker, there or not, and what the pools of
-- workers that are there have, by free capacity, the best worker first. Uses live_execution_waiting.
create or replace function postrider.dispatch_executions(p_most integer)
returns table (
    execution_id bigint,
    fence bigint,
    attempt integer,
    action text,
    priority integer,
    worker_id integer,
    expires_in_ms bigint,
    correlation_id uuid)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    candidate record;
    known postrider.worker;
    scheduled postrider.live_execution[];
    remaining integer := p_most;
    dispatched integer;
    waiting bigint;
begin
    for candidate in
        with pools as materialized (
            select distinct w.pool
            from postrider.worker w
            where w.carrier = 'rabbitmq'
        ), ranks as materialized (
            select p.worker_id, p.health_rank, p.free_capacity
            from pools
            cross join lateral postrider.pool_workers(pools.pool) p
        )
        select
            w.id,
            sum(r.free_capacity) over (
                partition by w.pool
                order by r.health_rank desc nulls first, r.free_capacity, w.id desc
            ) as capacity_from_here,
            r.free_capacity
        from postrider.worker w
        left join ranks r on r.worker_id = w.id
        where w.carrier = 'rabbitmq'
        and w.cordoned_at is null
        order by r.health_rank nulls last, r.free_capacity desc, w.id
    loop
        select w.* into known from postrider.worker w where w.id = candidate.id;
        select count(*)
        into waiting
        from (
            select
            from postrider.live_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.queue = postrider.execution_queue(null, known.pool)
                and l.status = 'requested'
                and not l.is_delayed
                limit remaining
            ) l
            limit remaining
        ) l;
        continue when (waiting = 0 or coalesce(candidate.free_capacity, 0) = 0)
            and not exists (
                select
                from postrider.live_generation g
                cross join lateral (
                    select
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.queue = postrider.execution_queue(known.id, null)
                    and l.status = 'requested'
                    and not l.is_delayed
                    limit 1
                ) l
            );
        -- Two statements, as in take_at_once: one alone would not see what was committed meanwhile.
        scheduled := array(
            select s
            from postrider.schedule_executions(
                known, remaining,
                coalesce(ceil(waiting * candidate.free_capacity / nullif(candidate.capacity_from_here, 0)), 0)::integer) s);
        return query
        select
            s.id, s.fence, s.attempt, s.action, s.priority::integer, s.worker_id,
            greatest(ceil(extract(epoch from s.expires_at - clock_timestamp()) * 1000), 0)::bigint,
            e.correlation_id
        from unnest(scheduled) s
        join postrider.execution e on e.id = s.id;
        get diagnostics dispatched = row_count;
        remaining := remaining - dispatched;
        exit when remaining <= 0;
    end loop;
end;
$$;
