-- postrider.held_execution(execution, fence) → it, locked, if it is running and the fence is the last one
--
-- Internal. Raises 22004 (a null), 42501 (another role has registered the worker that has it).
create or replace function postrider.held_execution(p_execution bigint, p_fence bigint)
returns setof postrider.live_execution
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    live postrider.live_execution;
begin
    if p_execution is null or p_fence is null then
        raise exception 'p_execution and p_fence must not be null' using errcode = '22004';
    end if;
    select l.*
    into live
    from postrider.live_execution l
    where l.id = p_execution
    and l.fence = p_fence
    and l.status <> 'requested'
    for update;
    if found then
        perform postrider.check_worker_role(w.name, w.registered_by)
        from postrider.worker w
        where w.id = live.worker_id;
        return next live;
    end if;
end;
$$;
