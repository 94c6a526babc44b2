-- postrider.return_execution(live execution, to_pool)
--
-- Internal, by who has locked the row. It is requested again under a new fence, without having used up an
-- attempt; for whoever is in its pool, if asked so. What was running has its whole time to live again.
create or replace function postrider.return_execution(
    p_live postrider.live_execution, p_to_pool boolean)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    at constant timestamptz := clock_timestamp();
    next_queue constant text :=
        case when p_to_pool then postrider.execution_queue(null, p_live.pool) else p_live.queue end;
    was_running constant boolean := p_live.status = 'running';
begin
    if was_running and p_live.cancel_requested_at is not null then
        perform postrider.end_execution(p_live, 'cancelled', 'cancelled', null, null);
        return;
    end if;
    if was_running then
        insert into postrider.execution_end (
            execution_id, attempt, is_final, status, worker_id, action, pool, requested_at,
            scheduled_at, started_at)
        values (
            p_live.id, p_live.attempt, false, 'released', p_live.worker_id, p_live.action,
            p_live.pool, p_live.requested_at, p_live.scheduled_at, p_live.started_at);
    end if;
    update postrider.live_execution l
    set queue = next_queue,
        status = 'requested',
        fence = nextval('postrider.execution_fence'),
        worker_id = null,
        worker_epoch = null,
        carrier = null,
        slot = null,
        is_published = false,
        requested_at = case when was_running then at else l.requested_at end,
        scheduled_at = null,
        started_at = null,
        expires_at = t.expires_at,
        deadline_at = null,
        due_at = t.expires_at
    from (
        select
            case
                when was_running then at + make_interval(secs => p_live.ttl_ms / 1000.0)
                else p_live.expires_at
            end
    ) t (expires_at)
    where l.id = p_live.id;
    perform postrider.ring_workers(next_queue);
end;
$$;
