-- postrider.release_slot(live execution)
--
-- Internal, when it is neither scheduled nor running any more: wakes who waits because its action has a
-- limit, and who gives the worker something of its pool, now that it has room. A worker on the carrier
-- postgres takes it by itself.
create or replace function postrider.release_slot(p_live postrider.live_execution)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_live.status <> 'requested'
        and exists (
            select
            from postrider.action a
            where a.name = p_live.action
            and a.concurrency is not null
        )
    then
        perform postrider.ring_workers(p_live.queue);
    end if;
    if p_live.carrier = 'rabbitmq' then
        perform postrider.ring_workers(postrider.execution_queue(null, w.pool))
        from postrider.worker w
        where w.id = p_live.worker_id;
    end if;
end;
$$;
