-- postrider.take_at_once(worker, limit, epoch) → executions that are scheduled for the worker now
--
-- Internal: take_executions without waiting. Does the monitor's work first where no dispatcher lives. Holds
-- the worker's lock to the end of the transaction if it gets something, and gets nothing while somebody else
-- has it. Raises 42704, 55000. Uses live_execution_waiting.
create or replace function postrider.take_at_once(
    p_worker integer, p_limit integer, p_epoch integer)
returns table (
    execution_id bigint,
    fence bigint,
    action text,
    parameters jsonb,
    attempt integer,
    priority integer,
    expires_at timestamptz,
    correlation_id uuid)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    most_checked constant integer := 100;
    known postrider.worker;
    scheduled postrider.live_execution[];
begin
    known := postrider.live_worker(p_worker, p_epoch);
    if known.carrier <> 'postgres' then
        raise exception 'Worker ''%'' gets its executions by %', known.name, known.carrier
            using errcode = '55000';
    end if;
    if not exists (select from postrider.acting_dispatchers()) then
        perform postrider.check_workers();
        perform postrider.check_executions(most_checked);
        perform postrider.check_generations();
    end if;
    if exists (
        select
        from postrider.live_generation g
        cross join lateral (
            select
            from postrider.live_execution l
            where l.generation = g.id
            and l.queue in (
                postrider.execution_queue(known.id, null), postrider.execution_queue(null, known.pool))
            and l.status = 'requested'
            and not l.is_delayed
            limit 1
        ) l
    ) then
        -- Two statements: one alone would not see parameters that were committed while it looked,
        -- and so keep from the worker what is scheduled for it.
        scheduled := array(
            select s
            from postrider.schedule_executions(known, p_limit, p_limit) s
        );
        return query
        select s.id, s.fence, s.action, e.parameters, s.attempt, s.priority::integer, s.expires_at,
            e.correlation_id
        from unnest(scheduled) s
        join postrider.execution e on e.id = s.id
        order by s.priority desc, s.id;
    end if;
end;
$$;
