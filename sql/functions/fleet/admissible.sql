-- postrider.admissible(action, most) → how many more of its executions seem to fit in now, at most so many
--
-- Internal, by schedule_queue: a look without a lock, where nobody needs one to learn that there is no room. What
-- is not committed is not counted: hold_slots decides. Uses live_execution_admitted.
create or replace function postrider.admissible(p_action text, p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    concurrency integer;
    admitted bigint;
begin
    select a.concurrency into concurrency from postrider.action a where a.name = p_action;
    if concurrency is null then
        return p_most;
    end if;
    select count(*)
    into admitted
    from (
        select
        from postrider.execution_generation g
        cross join lateral (
            select
            from postrider.live_execution l
            where l.generation = g.id
            and l.action = p_action
            and l.scheduled_at is not null
            limit concurrency
        ) l
        limit concurrency
    ) l;
    return least(p_most, concurrency - admitted);
end;
$$;
