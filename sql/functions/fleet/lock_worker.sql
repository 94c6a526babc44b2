-- postrider.lock_worker(worker, is_changed)
--
-- Internal: register_worker, deregister_worker, worker_executions. Holds the worker's lock to the end of the
-- transaction: nobody gives it executions meanwhile, and what others gave it has been committed. Holds its row as
-- well if it is to be changed. Waits some seconds for who has one. Nothing if there is no such worker. Raises
-- 55006 (somebody still has it).
create or replace function postrider.lock_worker(p_worker postrider.worker, p_is_changed boolean)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '5s'
as $$
begin
    -- A former version of a function may have made the worker while 0010 was applied.
    insert into postrider.worker_lock (worker_id)
    select w.id
    from postrider.worker w
    where w.id = p_worker.id
    and not exists (select from postrider.worker_lock k where k.worker_id = w.id)
    on conflict do nothing;
    perform
    from postrider.worker_lock k
    where k.worker_id = p_worker.id
    for update;
    perform
    from postrider.worker w
    where w.id = p_worker.id
    and p_is_changed
    for no key update;
exception
    when lock_not_available then
        perform postrider.refuse_held_worker(p_worker.name);
end;
$$;
