-- postrider.start_execution(execution, fence, epoch) → what is to be executed
--
-- Worker, application, admin. By the worker that it is scheduled for, with the fence it got. No row: it must not be
-- started, for somebody cancelled it, its time to live is over, or others have it by now. The fence that
-- comes back is for everything that follows; by the deadline it has to have ended. Raises 22004 (a null), 42501 (another
-- role has registered the worker),
-- 55000 (it is for this worker, which has to register again, or in a copy that nobody has adopted; a broker's message
-- must not be acknowledged).
-- Without `rows` the server expects a thousand rows of each call, and compiles whatever joins it (JIT).
create or replace function postrider.start_execution(
    p_execution bigint, p_fence bigint, p_epoch integer default null)
returns table (
    execution_id bigint,
    fence bigint,
    action text,
    parameters jsonb,
    attempt integer,
    max_retries integer,
    deadline_at timestamptz,
    timeout interval,
    correlation_id uuid)
language plpgsql
rows 1
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
#variable_conflict use_column
declare
    starting postrider.worker;
begin
    if p_execution is null or p_fence is null then
        raise exception 'p_execution and p_fence must not be null' using errcode = '22004';
    end if;
    perform postrider.refuse_copy();
    with started as (
        update postrider.live_execution l
        set status = 'running',
            fence = nextval('postrider.execution_fence'),
            worker_epoch = w.epoch,
            started_at = clock_timestamp(),
            deadline_at = clock_timestamp() + make_interval(secs => l.timeout_ms / 1000.0),
            due_at = clock_timestamp() + make_interval(secs => l.timeout_ms / 1000.0)
        from postrider.worker w
        where l.id = p_execution
        and l.fence = p_fence
        and l.status = 'scheduled'
        and l.expires_at > clock_timestamp()
        and w.id = l.worker_id
        and w.status <> 'inactive'
        and w.epoch = coalesce(p_epoch, w.epoch)
        returning l.*
    )
    select
        s.id, s.fence, s.action, e.parameters, s.attempt, s.max_retries, s.deadline_at,
        make_interval(secs => s.timeout_ms / 1000.0), e.correlation_id, s.worker_id, s.worker_epoch
    into
        execution_id, fence, action, parameters, attempt, max_retries, deadline_at, timeout, correlation_id,
        starting.id, starting.epoch
    from started s
    join postrider.execution e on e.id = s.id;
    if found then
        -- A statement of its own, behind the execution's lock: another role may have got the worker's name while that
        -- was waited for.
        perform postrider.live_worker(starting.id, starting.epoch);
        return next;
    elsif p_epoch is not null then
        -- Its message must stay in the queue: it is for the process that has the worker's name now, or
        -- will have it.
        perform postrider.live_worker(l.worker_id, p_epoch)
        from postrider.live_execution l
        where l.id = p_execution
        and l.fence = p_fence
        and l.status = 'scheduled';
    end if;
end;
$$;
