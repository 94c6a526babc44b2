-- postrider.retry_execution(execution) → the id of the new one
--
-- Operator, admin. Asks again for what has ended, whatever became of it: a new execution with the same action and
-- parameters, for the same worker or pool, whose original_execution is the first one of them all. Where the worker was
-- dropped or forgotten, it is for the pool. Logged in event_log. Raises 22004 (a null id), 42704 (no such execution),
-- 55000 (it has not ended; it was for a worker alone that is gone).
create or replace function postrider.retry_execution(p_execution bigint)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    original postrider.execution;
    worker_name text;
    new_id bigint;
begin
    if p_execution is null then
        raise exception 'p_execution must not be null' using errcode = '22004';
    end if;
    select e.* into original from postrider.execution e where e.id = p_execution;
    if not found then
        raise exception 'Execution % does not exist', p_execution using errcode = '42704';
    end if;
    if exists (select from postrider.live_execution l where l.id = p_execution) then
        raise exception 'Execution % has not ended', p_execution using errcode = '55000';
    end if;
    if original.worker_id is not null then
        select w.name into worker_name from postrider.worker w where w.id = original.worker_id;
        if found then
            original.worker_id := (postrider.addressed_worker(worker_name, original.pool)).id;
        elsif original.pool is not null then
            original.worker_id := null;
        else
            raise exception 'The worker of execution % is gone', p_execution
                using errcode = '55000', hint = 'Submit it anew, for a worker that is there or for a pool.';
        end if;
    end if;
    original.original_execution := coalesce(original.original_execution, original.id);
    original.idempotency_key := null;
    new_id := postrider.append_execution(original);
    insert into postrider.event_log (event, details)
    values (
        'execution.retried',
        jsonb_build_object(
            'execution_id', new_id, 'retry_of', p_execution, 'by', session_user, 'before', null,
            'after', jsonb_build_object('status', 'requested')));
    return new_id;
end;
$$;
