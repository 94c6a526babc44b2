-- postrider.admissible(action, most) → how many more of its executions may be scheduled now, at most so many
--
-- Internal, by schedule_queue. Where the action has a limit and some seem to fit in, holds the lock of the
-- action's row from then on, to the end of the transaction; none when somebody else has that lock, who
-- admits some at the same moment, or an admin. Nobody waits: with 20 workers that all wait for the locks of
-- three actions, each holding one of them, hardly anything else was taken. What is left over then is taken
-- when the next one of the action ends, or by whoever looks next. Uses live_execution_admitted.
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
    -- Nobody needs the lock to learn that there is no room.
    for look in 1..2 loop
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
        if admitted >= concurrency then
            return 0;
        end if;
        exit when look = 2;
        -- The second look is a statement of its own: it sees what was admitted before we had the lock.
        select a.concurrency
        into concurrency
        from postrider.action a
        where a.name = p_action
        for no key update skip locked;
        -- Not waited for: while it was, this worker would hold up all others, with what it has locked before.
        if not found then
            return 0;
        end if;
        if concurrency is null then
            return p_most;
        end if;
    end loop;
    return least(p_most, concurrency - admitted);
end;
$$;
