-- postrider.extend_execution(execution, fence, timeout) → whether to go on
--
-- Worker, application, admin. From now on it may take so much longer (1 millisecond to 30 days). False: it is not
-- this worker's any more, or somebody wants it cancelled; stop. Raises 22004 (a null), 22023 (a timeout
-- out of its range), 42501 (another role has registered the worker that has it).
create or replace function postrider.extend_execution(
    p_execution bigint, p_fence bigint, p_timeout interval)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_execution is null or p_fence is null or p_timeout is null then
        raise exception 'p_execution, p_fence and p_timeout must not be null' using errcode = '22004';
    end if;
    perform postrider.check_duration('p_timeout', p_timeout, '1 millisecond', '30 days');
    perform postrider.check_worker_role(w.name, w.registered_by)
    from postrider.live_execution l
    join postrider.worker w on w.id = l.worker_id
    where l.id = p_execution
    and l.fence = p_fence;
    update postrider.live_execution l
    set deadline_at = clock_timestamp() + p_timeout,
        due_at = clock_timestamp() + p_timeout
    where l.id = p_execution
    and l.fence = p_fence
    and l.status = 'running'
    and l.cancel_requested_at is null;
    return found;
end;
$$;
