-- postrider.hold_slots(action, most) → slots for its executions, at most so many; null: it has no limit
--
-- Internal, by schedule_queue. Holds them to the end of the transaction. What others hold, and have not
-- committed, counts as taken; nobody waits, and whoever changes the action holds up nobody.
create or replace function postrider.hold_slots(p_action text, p_most integer)
returns smallint[]
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    known postrider.action;
    free smallint[];
    held smallint[];
begin
    select a.* into known from postrider.action a where a.name = p_action;
    if known.concurrency is null then
        return null;
    end if;
    free := postrider.free_slots(known);
    held := array(
        select s.slot
        from postrider.action_slot s
        where s.action_id = known.id
        and s.slot = any (free)
        order by s.slot
        limit p_most
        for update skip locked
    );
    if held = '{}' then
        return held;
    end if;
    -- Whoever had one of them before has committed by now: then it is not free any more.
    select a.* into known from postrider.action a where a.name = p_action;
    if known.concurrency is null then
        return null;
    end if;
    free := postrider.free_slots(known);
    return array(
        select h.slot
        from unnest(held) h (slot)
        where h.slot = any (free)
        order by h.slot
    );
end;
$$;
