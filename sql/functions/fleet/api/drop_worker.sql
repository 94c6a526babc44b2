-- postrider.drop_worker(name)
--
-- Admin. Removes a worker that is not registered any more and that nothing waits for. Logged in event_log.
-- Raises 22004 (a null name), 42704 (no such worker), 55000 (it is registered, or something waits for it).
create or replace function postrider.drop_worker(p_name text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.worker := postrider.held_worker(p_name);
begin
    if known.status <> 'inactive' then
        raise exception 'Worker ''%'' is registered: stop it first', p_name using errcode = '55000';
    end if;
    -- What somebody has submitted to it, and has not committed, is seen by the next statement.
    perform
    from postrider.worker w
    where w.id = known.id
    for update;
    if postrider.is_awaited(known.id) then
        raise exception 'Executions wait for worker ''%'': cancel them first', p_name
            using errcode = '55000';
    end if;
    delete from postrider.worker w
    where w.id = known.id;
    insert into postrider.event_log (event, details)
    values (
        'worker.dropped',
        jsonb_build_object(
            'worker', p_name, 'by', session_user, 'after', null,
            'before', jsonb_build_object(
                'pool', known.pool, 'carrier', known.carrier, 'capacity', known.capacity,
                'labels', known.labels, 'registered_by', known.registered_by)));
end;
$$;
