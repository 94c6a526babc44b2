-- postrider.forget_executions(most) → how many rows were removed, not counting ends of executions
--
-- Internal, by every dispatcher once a minute. What ended execution_retention_days ago: executions with
-- all that is known of their attempts, and dead letters, as far as both are in the figures; figures by the
-- hour after 400 days; and workers that left so long ago, or whose name was first used an hour ago and never
-- registered, are not cordoned, and have nothing waiting for them; and locks of what is gone. At most so many of
-- each. Who locks a row keeps it. Uses execution_end_ended_at, execution_end_earlier, execution_end_final,
-- execution_dead_letter_at, live_execution_worker, live_execution_waiting.
create or replace function postrider.forget_executions(p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    -- Each is looked for among all that has not ended.
    most_workers constant integer := 100;
    -- Names that anybody may make up: see max_unknown_workers.
    unknown_from constant timestamptz := clock_timestamp() - interval '1 hour';
    figures_from constant timestamptz := clock_timestamp() - interval '400 days';
    kept_from constant timestamptz := clock_timestamp()
        - make_interval(days => postrider.get_setting('execution_retention_days')::integer);
    horizon xid8;
    old_ids bigint[];
    old_workers integer[];
    removed integer;
    part integer;
begin
    select r.horizon into horizon from postrider.execution_rollup r;
    old_ids := array(
        select e.execution_id
        from postrider.execution_end e
        where e.ended_at < kept_from
        and e.is_final
        and e.xid < horizon
        order by e.ended_at
        limit p_most
        for update skip locked
    );
    delete from postrider.execution e
    where e.id = any (old_ids);
    get diagnostics removed = row_count;
    -- Each by its index.
    delete from postrider.execution_end e
    where e.execution_id = any (old_ids)
    and not e.is_final;
    delete from postrider.execution_end e
    where e.execution_id = any (old_ids)
    and e.is_final;

    delete from postrider.execution_dead_letter d
    using (
        select o.id
        from postrider.execution_dead_letter o
        where o.at < kept_from
        and o.xid < horizon
        order by o.at
        limit p_most
        for update skip locked
    ) old
    where d.id = old.id;
    get diagnostics part = row_count;
    removed := removed + part;

    delete from postrider.execution_statistics s
    where s.hour < figures_from;
    get diagnostics part = row_count;
    removed := removed + part;
    delete from postrider.dead_letter_statistics s
    where s.hour < figures_from;
    get diagnostics part = row_count;
    removed := removed + part;

    old_workers := array(
        select o.id
        from postrider.worker o
        where o.status = 'inactive'
        and o.cordoned_at is null
        and case
            when o.registered_at is null then o.created_at < unknown_from
            else coalesce(o.heartbeat_at, o.created_at) < kept_from
        end
        and not postrider.is_awaited(o.id)
        order by o.id
        limit least(p_most, most_workers)
        for update of o skip locked
    );
    -- Nobody submits anything to them from here on. What was committed while they were looked for is seen by a statement
    -- of its own.
    delete from postrider.worker w
    where w.id = any (old_workers)
    and not postrider.is_awaited(w.id);
    get diagnostics part = row_count;
    removed := removed + part;

    -- Ids do not come back, so nobody needs these any more.
    delete from postrider.worker_lock k
    where k.worker_id = any (array(
        select o.worker_id
        from postrider.worker_lock o
        where not exists (select from postrider.worker w where w.id = o.worker_id)
        limit p_most
        for update of o skip locked
    ));
    delete from postrider.action_slot s
    using (
        select o.action_id, o.slot
        from postrider.action_slot o
        where not exists (select from postrider.action a where a.id = o.action_id)
        limit p_most
        for update of o skip locked
    ) old
    where s.action_id = old.action_id
    and s.slot = old.slot;
    return removed;
end;
$$;
