-- postrider.check_workers() → how many workers were lost
--
-- Internal, by every dispatcher, and by take_executions where none lives. A worker without a heartbeat for
-- worker_stale_after is lost: it is inactive, its epoch rises so that a late heartbeat is refused, and
-- what it had is recovered (recover_worker); so is what processes before had, which may have
-- been locked at the look before, or have been given to them meanwhile. What a pool may have as well does not
-- wait for a worker that is not there. However many are lost, and however much they had, a call does a few thousand
-- rows of it at most: the rest is for the next one. Uses live_execution_worker, live_execution_waiting,
-- live_execution_fallback, worker_lost.
create or replace function postrider.check_workers()
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
    stale_after constant interval :=
        make_interval(secs => postrider.get_setting('worker_stale_after')::integer);
    is_failing constant boolean := postrider.get_setting('stale_worker_policy') = 'fail';
    -- The rest at the next look: so many at once must not keep executions from being looked at.
    most_returned constant integer := 1000;
    recovered_count integer := 0;
    lost postrider.worker;
    live postrider.live_execution;
    lost_count integer := 0;
begin
    for lost in
        update postrider.worker w
        set status = 'inactive',
            epoch = w.epoch + 1,
            lost_fence = case
                when is_failing then (select f.last_value from postrider.execution_fence f)
            end
        from (
            select s.id
            from postrider.worker s
            where s.status <> 'inactive'
            and s.heartbeat_at < clock_timestamp() - stale_after
            order by s.id
            limit most_returned
            -- Whoever has submitted something to it, and has not committed, keeps nobody from finding it lost.
            for no key update skip locked
        ) s
        where w.id = s.id
        returning w.*
    loop
        insert into postrider.event_log (event, details)
        values (
            'worker.lost',
            jsonb_build_object('worker', lost.name, 'heartbeat_at', lost.heartbeat_at));
        lost_count := lost_count + 1;
    end loop;
    for lost in
        select w.*
        from postrider.worker w
        where exists (
            select
            from postrider.live_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.worker_id = w.id
                and l.status = 'running'
                and l.worker_epoch < w.epoch
                limit 1
            ) l
        )
        -- Behind RabbitMQ only what was scheduled while it was lost, on the way to a queue that nobody reads, or is
        -- to fail.
        or (w.carrier = 'postgres' or w.status = 'inactive') and exists (
            select
            from postrider.live_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.worker_id = w.id
                and l.status = 'scheduled'
                and l.worker_epoch < w.epoch
                and (w.carrier = 'postgres' or l.pool is not null or w.lost_fence is not null)
                limit 1
            ) l
        )
        or w.lost_fence is not null and exists (
            select
            from postrider.live_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.queue = postrider.execution_queue(w.id, null)
                and l.pool is null
                and l.status = 'requested'
                and not l.is_delayed
                and l.fence <= w.lost_fence
                limit 1
            ) l
        )
        order by w.id
    loop
        recovered_count := recovered_count + postrider.recover_worker(
            lost,
            case when lost.status = 'inactive' then 'worker_heartbeat_stale' else 'worker_unavailable' end,
            lost.status = 'inactive');
        exit when recovered_count >= most_returned;
    end loop;
    -- What is addressed to it from here on waits for its return. All generations: a row that moves must not be missed.
    update postrider.worker w
    set lost_fence = null
    where w.id = any (array(
        select k.id
        from postrider.worker k
        where k.lost_fence is not null
        and (
            not is_failing
            or not exists (
                select
                from postrider.execution_generation g
                cross join lateral (
                    select
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.queue = postrider.execution_queue(k.id, null)
                    and l.pool is null
                    and l.status = 'requested'
                    and not l.is_delayed
                    and l.fence <= k.lost_fence
                    limit 1
                ) l
            )
            and not exists (
                select
                from postrider.execution_generation g
                cross join lateral (
                    select
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.worker_id = k.id
                    and l.status = 'scheduled'
                    and l.worker_epoch < k.epoch
                    limit 1
                ) l
            )
        )
        for no key update of k skip locked));
    for live in
        select l.*
        from postrider.worker w
        cross join postrider.live_generation g
        cross join lateral (
            select l.*
            from postrider.live_execution l
            where l.generation = g.id
            and l.queue = postrider.execution_queue(w.id, null)
            and l.queue like 'worker:%'
            and l.pool is not null
            and l.status = 'requested'
            and not l.is_delayed
            limit most_returned
            for update skip locked
        ) l
        where w.status = 'inactive'
        limit most_returned
    loop
        perform postrider.return_execution(live, true);
    end loop;
    return lost_count;
end;
$$;
