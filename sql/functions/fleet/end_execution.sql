-- postrider.end_execution(live execution, status, reason, result, error)
--
-- Internal, by who has locked the row: the only way in which an execution ends. Records how, frees its
-- place among those of its action and wakes who waits for that, and announces it to subscribers.
create or replace function postrider.end_execution(
    p_live postrider.live_execution,
    p_status text,
    p_reason text,
    p_result jsonb,
    p_error jsonb)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    insert into postrider.execution_end (
        execution_id, attempt, is_final, status, reason, retry_reason, worker_id, action, pool, requested_at,
        scheduled_at, started_at, result, error)
    values (
        p_live.id, p_live.attempt, true, p_status, p_reason, p_live.retry_reason, p_live.worker_id, p_live.action,
        p_live.pool, p_live.requested_at, p_live.scheduled_at, p_live.started_at, p_result, p_error);
    delete from postrider.live_execution l
    where l.id = p_live.id;
    perform postrider.release_slot(p_live);
    perform postrider.publish_execution_end(p_live, p_status, p_reason, p_error);
end;
$$;
