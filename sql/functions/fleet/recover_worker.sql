-- postrider.recover_worker(worker, reason, is_leaving) → how many executions it concerned
--
-- Internal, after its epoch was raised: what becomes of what a process has left behind. What it was
-- running has failed for this reason, or goes back without using up an attempt when there is none (it
-- left by itself). What it had not started goes back to the pool, if the execution names one; a message
-- in a queue of RabbitMQ stays where it is when the worker is about to read that. When it leaves or is lost,
-- that holds for what waits in its queue as well; and what is for this worker alone waits for its return,
-- or fails with worker_unavailable, as the setting stale_worker_policy says. Of a worker that is lost it does no more
-- than a thousand of each: check_workers comes again. Uses live_execution_worker, live_execution_waiting.
create or replace function postrider.recover_worker(
    p_worker postrider.worker, p_reason text, p_is_leaving boolean)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    -- Check_workers looks after the rest.
    most_returned constant integer := 1000;
    live postrider.live_execution;
    own_queue constant text := postrider.execution_queue(p_worker.id, null);
    is_lost constant boolean := p_is_leaving and p_reason is not null;
    is_failing constant boolean := is_lost and p_worker.lost_fence is not null
        and postrider.get_setting('stale_worker_policy') = 'fail';
    error jsonb;
    recovered integer := 0;
begin
    error := jsonb_build_object(
        'error', case
            when is_lost then 'Worker heartbeat stale'
            else 'Worker registered again'
        end,
        'message', case
            when is_lost then 'Worker sent no heartbeat for too long'
            else 'Another process has taken over the name of the worker'
        end,
        'worker', p_worker.name, 'heartbeat_at', p_worker.heartbeat_at);
    for live in
        select l.*
        from postrider.execution_generation g
        cross join lateral (
            select l.*
            from postrider.live_execution l
            where l.generation = g.id
            and l.worker_id = p_worker.id
            and l.worker_epoch < p_worker.epoch
            -- What lies in a queue of RabbitMQ that the worker is to read stays there.
            and (
                l.status = 'running'
                or 'postgres' in (l.carrier, p_worker.carrier)
                or l.pool is not null and p_is_leaving
                or is_failing
            )
            -- Not an order that another index has: all that waits would be walked through.
            order by l.id + 0
            limit case when is_lost then most_returned end
            for update skip locked
        ) l
        limit case when is_lost then most_returned end
    loop
        if live.status = 'running' and p_reason is not null then
            perform postrider.fail_attempt(live, p_reason, error);
        elsif live.status = 'running' then
            perform postrider.return_execution(live, live.pool is not null);
        elsif live.pool is not null then
            perform postrider.return_execution(live, p_is_leaving);
        elsif is_failing then
            perform postrider.fail_attempt(live, 'worker_unavailable', error);
        else
            perform postrider.return_execution(live, false);
        end if;
        recovered := recovered + 1;
    end loop;
    if not p_is_leaving then
        return recovered;
    end if;
    for live in
        select l.*
        from postrider.execution_generation g
        cross join lateral (
            select l.*
            from postrider.live_execution l
            where l.generation = g.id
            and l.queue = own_queue
            and l.status = 'requested'
            and not l.is_delayed
            and (l.pool is not null or is_failing and l.fence <= p_worker.lost_fence)
            limit most_returned
            for update skip locked
        ) l
        limit most_returned
    loop
        if live.pool is not null then
            perform postrider.return_execution(live, true);
        else
            perform postrider.fail_attempt(live, 'worker_unavailable', error);
        end if;
        recovered := recovered + 1;
    end loop;
    return recovered;
end;
$$;
