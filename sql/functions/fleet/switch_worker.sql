-- postrider.switch_worker(name, is_cordoned) → whether that was a change
--
-- Internal: cordon_worker and uncordon_worker. Raises 22004 (a null name), 42704 (no such worker).
create or replace function postrider.switch_worker(p_name text, p_is_cordoned boolean)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.worker := postrider.held_worker(p_name);
begin
    if (known.cordoned_at is not null) = p_is_cordoned then
        return false;
    end if;
    update postrider.worker w
    set cordoned_at = case when p_is_cordoned then clock_timestamp() end
    where w.id = known.id;
    insert into postrider.event_log (event, details)
    values (
        case when p_is_cordoned then 'worker.cordoned' else 'worker.uncordoned' end,
        jsonb_build_object(
            'worker', p_name, 'by', session_user,
            'before', jsonb_build_object('cordoned', not p_is_cordoned),
            'after', jsonb_build_object('cordoned', p_is_cordoned)));
    if not p_is_cordoned then
        perform postrider.ring_workers(postrider.execution_queue(known.id, null));
        perform postrider.ring_workers(postrider.execution_queue(null, known.pool));
    end if;
    return true;
end;
$$;
