-- postrider.free_slots(action) → the slots of it that may be taken now, the lowest first
--
-- Internal, by hold_slots. Nobody who has committed has one of them. As many as are missing to the limit, and the
-- lowest ones: what was scheduled while the limit was another one, without a slot or with a higher one, counts as
-- well. Who takes one of these, and nobody takes the same, makes no more than the limit: slot s is
-- free, so at most s - 1 lower ones are taken, and whatever has a higher one or none was there before and has been counted.
-- Sees what was committed until now. Uses live_execution_admitted.
create or replace function postrider.free_slots(p_action postrider.action)
returns smallint[]
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = on
set jit = off
as $$
begin
    return array(
        with admitted as materialized (
            select l.slot
            from postrider.execution_generation g
            cross join lateral (
                select l.slot
                from postrider.live_execution l
                where l.generation = g.id
                and l.action = p_action.name
                and l.scheduled_at is not null
                limit p_action.concurrency
            ) l
            limit p_action.concurrency
        )
        select s.slot
        from postrider.action_slot s
        left join admitted a on a.slot = s.slot
        where s.action_id = p_action.id
        and a.slot is null
        order by s.slot
        limit greatest(p_action.concurrency - (select count(*) from admitted), 0)
    );
end;
$$;
