-- postrider.schedule_executions(worker, limit, pool_limit) → the executions that are scheduled for it now
--
-- Internal: the one way from requested to scheduled, for both carriers. First what is addressed to the
-- worker, then, up to a limit of its own, what its pool has, the highest priority and then the oldest first, as far as
-- the limits of actions allow. A cordoned worker gets nothing, nor does one that was lost, as long as something that
-- waits for it has yet to fail. Of what has come to the pool within the last second so much is left alone as the better
-- workers (pool_workers) have room for. Where there is something for it, holds the worker's lock (worker_room), and
-- slots of actions with a limit (hold_slots), to the end of the transaction; nothing while somebody else has the
-- worker's. Uses live_execution_waiting, live_execution_admitted, live_execution_worker.
create or replace function postrider.schedule_executions(
    p_worker postrider.worker, p_limit integer, p_pool_limit integer)
returns setof postrider.live_execution
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    head_start constant interval := '1 second';
    most_reserved constant integer := 100;
    at constant timestamptz := clock_timestamp();
    present postrider.worker;
    remaining integer := p_limit;
    load bigint;
    own record;
    taken integer;
begin
    select w.* into present from postrider.worker w where w.id = p_worker.id;
    if present.epoch is distinct from p_worker.epoch or present.cordoned_at is not null
        -- What waits for a worker that was lost is to fail (check_workers), and not to go to its queue of RabbitMQ.
        or present.lost_fence is not null
    then
        return;
    end if;
    -- What is addressed to it waits here until it has room, or in its queue of RabbitMQ.
    if present.carrier = 'postgres' then
        select count(*)
        into load
        from postrider.execution_generation g
        cross join lateral (
            select
            from postrider.live_execution l
            where l.generation = g.id
            and l.worker_id = present.id
            limit present.capacity
        ) l;
        remaining := least(remaining, present.capacity - load);
    end if;

    return query
    select s.*
    from postrider.schedule_queue(
        present, postrider.execution_queue(present.id, null), remaining, 0, at) s;
    get diagnostics taken = row_count;
    remaining := remaining - taken;
    remaining := least(remaining, p_pool_limit);
    if remaining <= 0 then
        return;
    end if;

    with ranks as materialized (
        select w.worker_id, w.health_rank, w.free_capacity
        from postrider.pool_workers(present.pool) w
    )
    select
        o.free_capacity,
        (
            select least(coalesce(sum(w.free_capacity), 0), most_reserved)
            from ranks w
            where (w.health_rank, -w.free_capacity) < (o.health_rank, -o.free_capacity)
        ) as reserved
    into own
    from ranks o
    where o.worker_id = present.id;
    if not found or own.free_capacity = 0 then
        return;
    end if;
    return query
    select s.*
    from postrider.schedule_queue(
        present, postrider.execution_queue(null, present.pool),
        least(remaining, own.free_capacity)::integer, own.reserved::integer, at - head_start) s;
end;
$$;
