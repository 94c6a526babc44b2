-- postrider.deregister_worker(worker, epoch) → whether it was registered
--
-- Worker, application, admin, which may let every worker leave. The worker leaves: what it had not finished goes back without using up an attempt,
-- to the pool, or to wait until it returns if it was addressed to this worker alone. In a transaction of
-- its own. Raises 22004 (a null worker), 42501 (another role has registered it), 42704 (no such worker), 55006 (another transaction has not ended that
-- gives it executions, or changes it).
create or replace function postrider.deregister_worker(p_worker integer, p_epoch integer default null)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    left_worker postrider.worker;
begin
    begin
        perform postrider.lock_worker(postrider.leaving_worker(p_worker, p_epoch), true);
        left_worker := postrider.leaving_worker(p_worker, p_epoch);
    exception
        when object_not_in_prerequisite_state then return false;
    end;
    update postrider.worker w
    set status = 'inactive',
        epoch = w.epoch + 1
    where w.id = p_worker
    returning w.* into left_worker;
    perform postrider.recover_worker(left_worker, null, true);
    insert into postrider.event_log (event, details)
    values ('worker.deregistered', jsonb_build_object('worker', left_worker.name, 'by', session_user));
    return true;
end;
$$;
