-- postrider.worker_heartbeat(worker, epoch, error) → what it is to stop
--
-- Worker, application, admin. Says that the worker lives, by the database's clock, and probes its health. With an
-- error: it lives and cannot work (status error): it gets nothing from the pool, and what it has not started goes back there. Returns its
-- running executions that somebody wants to cancel. In a transaction of its own. The error is cut at 1,000
-- characters. Raises 22004 (a null worker), 42501 (another role has registered it), 42704 (no such worker), 55000 (it has to register again, or
-- in a copy that nobody has adopted).
create or replace function postrider.worker_heartbeat(
    p_worker integer, p_epoch integer default null, p_error text default null)
returns table (
    execution_id bigint,
    fence bigint)
language plpgsql
security definer
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
    most_returned constant integer := 1000;
    live postrider.live_execution;
    known postrider.worker := postrider.live_worker(p_worker, p_epoch);
    probe record;
begin
    -- Who takes nothing here hears why.
    perform postrider.refuse_copy();
    select p.* into probe from postrider.probe_worker(p_worker) p;
    update postrider.worker w
    set heartbeat_at = clock_timestamp(),
        status = case when p_error is null then 'active' else 'error' end,
        last_error = left(p_error, 1000),
        health = probe.health,
        failure_streak = probe.failure_streak,
        failure_rate = probe.failure_rate,
        queue_depth = probe.queue_depth
    where w.id = p_worker
    and w.epoch = known.epoch
    and w.status <> 'inactive';
    if not found then
        -- It was taken for lost while we waited for its row: says so.
        known := postrider.live_worker(p_worker, known.epoch);
    end if;
    if p_error is not null then
        for live in
            select l.*
            from postrider.live_generation g
            cross join lateral (
                select l.*
                from postrider.live_execution l
                where l.generation = g.id
                and l.worker_id = p_worker
                and l.status = 'scheduled'
                and l.pool is not null
                limit most_returned
                for update skip locked
            ) l
            limit most_returned
        loop
            perform postrider.return_execution(live, true);
        end loop;
    end if;
    return query
    select l.id, l.fence
    from postrider.live_generation g
    cross join lateral (
        select l.id, l.fence
        from postrider.live_execution l
        where l.generation = g.id
        and l.worker_id = p_worker
        and l.status = 'running'
        and l.cancel_requested_at is not null
        offset 0
    ) l;
end;
$$;
