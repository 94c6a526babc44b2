-- postrider.worker_room(worker, queue, most) → how many more of the queue it may be given now, at most so many
--
-- Internal, by schedule_queue, when there is something for it. Holds the worker's lock from then on, to the end of
-- the transaction; none while somebody else has it, when another process has its name or when it is cordoned.
-- The lock gives the transaction an id: whoever polls in vain must not get that far. Its own queue in RabbitMQ has
-- room for all that is addressed to it. Uses live_execution_worker.
create or replace function postrider.worker_room(p_worker postrider.worker, p_queue text, p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    present postrider.worker;
    load bigint;
begin
    perform
    from postrider.worker_lock k
    where k.worker_id = p_worker.id
    for update skip locked;
    if not found then
        return 0;
    end if;
    -- Statements of their own, which see what those who had the lock before have given it.
    select w.*
    into present
    from postrider.worker w
    where w.id = p_worker.id
    and w.epoch = p_worker.epoch
    and w.cordoned_at is null;
    if not found then
        return 0;
    end if;
    if present.carrier = 'rabbitmq' and p_queue = postrider.execution_queue(present.id, null) then
        return p_most;
    end if;
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
    return greatest(least(p_most, present.capacity - load), 0);
end;
$$;
