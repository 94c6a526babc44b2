-- postrider.submit_execution(action, parameters, worker, pool, ttl, timeout, priority, max_retries,
-- idempotency_key, correlation_id) → the execution's id
--
-- Producer, application, admin. Part of the caller's transaction: what rolls back was never asked for. Goes to the
-- worker of that name, whether it is there or not, or to one of the pool (default: default); with both, to
-- the worker, and to the pool should the worker be lost. What is null is taken from the action
-- (set_action), then from the settings worker_queue_ttl_ms and execution_timeout; priority and max_retries
-- are 0. A repeated idempotency key returns the first execution's id as long as that is kept, and changes
-- nothing. Waits some seconds for a transaction that submits the first execution to the same worker, or drops it. Raises
-- 22004 (a null), 22023 (a value that is not valid, with the bound), 23505 (the key belongs to an execution of another
-- action or with other parameters), 53400 (a name that nobody has registered, where the caller's role has named as many
-- such as max_unknown_workers allows), 55006 (that transaction has not ended).
create or replace function postrider.submit_execution(
    p_action text,
    p_parameters jsonb default '{}',
    p_worker text default null,
    p_pool text default null,
    p_ttl interval default null,
    p_timeout interval default null,
    p_priority integer default null,
    p_max_retries integer default null,
    p_idempotency_key text default null,
    p_correlation_id uuid default null)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.action;
    target postrider.worker;
    most_unknown bigint;
    execution_id bigint;
begin
    perform postrider.check_execution(
        p_action, p_parameters, p_worker, p_pool, p_ttl, p_timeout, p_priority, p_max_retries,
        p_idempotency_key);
    -- Looked up first, although the insert looks again: a repeated submission then writes nothing.
    if p_idempotency_key is not null then
        execution_id := postrider.execution_key_holder(p_idempotency_key, p_action, p_parameters);
        if execution_id is not null then
            return execution_id;
        end if;
    end if;
    select a.* into known from postrider.action a where a.name = p_action;
    if p_worker is not null then
        -- Each name is a row that whoever looks after the fleet walks over. Counted for a new one only, and
        -- for each role by itself: none keeps others from using new names.
        if not exists (select from postrider.worker w where w.name = p_worker) then
            most_unknown := postrider.get_setting('max_unknown_workers')::bigint;
            if most_unknown <= (
                select count(*)
                from (
                    select
                    from postrider.worker w
                    where w.registered_at is null
                    and w.named_by = postrider.caller()
                    limit most_unknown
                ) n
            ) then
                raise exception
                    'Worker ''%'' has never registered, and role "%" has named % such workers, which is the limit (max_unknown_workers)',
                    p_worker, postrider.caller(), most_unknown
                    using errcode = '53400',
                        hint = 'Submit it for a worker that is there, or for a pool. Names that nothing waits for are forgotten an hour after they were first used.';
            end if;
        end if;
        target := postrider.addressed_worker(p_worker, p_pool);
    end if;
    return postrider.append_execution((
        null, p_action, p_parameters, target.id,
        coalesce(p_pool, case when p_worker is null then 'default' end),
        coalesce(p_priority, known.priority, 0),
        coalesce(
            extract(epoch from p_ttl) * 1000, known.ttl_ms,
            postrider.get_setting('worker_queue_ttl_ms')::bigint),
        coalesce(
            extract(epoch from p_timeout) * 1000, known.timeout_ms,
            postrider.get_setting('execution_timeout')::bigint * 1000),
        coalesce(p_max_retries, known.max_retries, 0),
        p_idempotency_key, p_correlation_id, null, null)::postrider.execution);
end;
$$;
