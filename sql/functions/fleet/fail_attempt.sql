-- postrider.fail_attempt(live execution, reason, error) → the status it has now
--
-- Internal, by who has locked the row. Retries what may succeed another time, which the reason says
-- (worker_unavailable, queue_timeout, worker_heartbeat_stale, transient_error, manual_retry), as often as
-- max_retries allows; ends it as failed otherwise. What somebody wanted to cancel is cancelled.
create or replace function postrider.fail_attempt(
    p_live postrider.live_execution, p_reason text, p_error jsonb)
returns text
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    worth_retrying constant text[] := array[
        'worker_unavailable', 'queue_timeout', 'worker_heartbeat_stale', 'transient_error',
        'manual_retry'];
    run_at timestamptz;
begin
    if p_live.cancel_requested_at is not null then
        perform postrider.end_execution(p_live, 'cancelled', 'cancelled', null, p_error);
        return 'cancelled';
    end if;
    if p_reason <> all (worth_retrying) or p_live.attempt > p_live.max_retries then
        perform postrider.end_execution(p_live, 'failed', p_reason, null, p_error);
        return 'failed';
    end if;
    insert into postrider.execution_end (
        execution_id, attempt, is_final, status, reason, retry_reason, worker_id, action, pool, requested_at,
        scheduled_at, started_at, error)
    values (
        p_live.id, p_live.attempt, false, 'failed', p_reason, p_live.retry_reason, p_live.worker_id, p_live.action,
        p_live.pool, p_live.requested_at, p_live.scheduled_at, p_live.started_at, p_error);
    run_at := clock_timestamp()
        + make_interval(secs => postrider.execution_retry_delay(p_live.attempt, random()));
    update postrider.live_execution l
    set status = 'requested',
        is_delayed = true,
        attempt = l.attempt + 1,
        retry_reason = p_reason,
        fence = nextval('postrider.execution_fence'),
        worker_id = null,
        worker_epoch = null,
        carrier = null,
        slot = null,
        is_published = false,
        requested_at = run_at,
        scheduled_at = null,
        started_at = null,
        expires_at = run_at + make_interval(secs => l.ttl_ms / 1000.0),
        deadline_at = null,
        due_at = run_at
    where l.id = p_live.id;
    perform postrider.release_slot(p_live);
    return 'requested';
end;
$$;
