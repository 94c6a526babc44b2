-- postrider.append_execution(execution) → its id
--
-- Internal: the one way to write an execution, after its values were checked. Its id and created_at are
-- given here. Returns the holder's id when the idempotency key is taken, and writes nothing. Raises 23505 when it
-- is taken for something else.
create or replace function postrider.append_execution(p_execution postrider.execution)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    at constant timestamptz := clock_timestamp();
    queue constant text := postrider.execution_queue(p_execution.worker_id, p_execution.pool);
    execution_id bigint;
begin
    loop
        insert into postrider.execution (
            action, parameters, worker_id, pool, priority, ttl_ms, timeout_ms, max_retries,
            idempotency_key, correlation_id, original_execution, created_at)
        values (
            p_execution.action, p_execution.parameters, p_execution.worker_id, p_execution.pool,
            p_execution.priority, p_execution.ttl_ms, p_execution.timeout_ms, p_execution.max_retries,
            p_execution.idempotency_key, p_execution.correlation_id, p_execution.original_execution, at)
        on conflict (idempotency_key) where idempotency_key is not null do nothing
        returning id into execution_id;
        exit when found;
        -- Gone if it was cleaned up in between.
        execution_id := postrider.execution_key_holder(
            p_execution.idempotency_key, p_execution.action, p_execution.parameters);
        if execution_id is not null then
            return execution_id;
        end if;
    end loop;
    insert into postrider.live_execution (
        id, generation, action, queue, pool, status, priority, max_retries, retry_reason, ttl_ms, timeout_ms,
        requested_at, expires_at, due_at)
    select
        execution_id, postrider.enter_generation(), p_execution.action, queue, p_execution.pool, 'requested',
        p_execution.priority, p_execution.max_retries,
        case when p_execution.original_execution is not null then 'manual_retry' end,
        p_execution.ttl_ms, p_execution.timeout_ms, at, t.expires_at, t.expires_at
    from (
        select at + make_interval(secs => p_execution.ttl_ms / 1000.0)
    ) t (expires_at);
    perform postrider.ring_workers(queue);
    return execution_id;
end;
$$;
