-- postrider.refuse_living_worker(worker_id)
--
-- Internal, by register_worker, which has locked the worker's row: nobody registers it, or finds it lost, meanwhile. Raises
-- 55006 if it lives under a role whose rights the caller has not; the role admin may take every name. The client reads the
-- detail: for so long it tries again.
create or replace function postrider.refuse_living_worker(p_worker_id integer)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    stale_after constant integer := postrider.get_setting('worker_stale_after');
    living postrider.worker;
begin
    select w.*
    into living
    from postrider.worker w
    where w.id = p_worker_id
    and w.status <> 'inactive'
    and w.heartbeat_at >= clock_timestamp() - make_interval(secs => stale_after);
    if not found or postrider.may_act_for(living.registered_by) or postrider.is_admin() then
        return;
    end if;
    raise exception 'Worker ''%'' lives, and was registered by role "%", not by "%"', living.name,
        living.registered_by, postrider.caller()
        using
            errcode = '55006',
            detail = format('worker_stale_after is %s s', stale_after),
            hint = format(
                'Act as that role, grant it to "%s", or wait until the worker has left or was not heard of for so long.',
                postrider.caller());
end;
$$;
