-- postrider.any_waiting_action(queue) → an action that waits in the queue, or null
--
-- Internal, by schedule_queue: where to go on when there are too many to look at all of them. The first one
-- from the action of a random execution of those submitted since the oldest generation began. Uses
-- execution_pkey, live_execution_waiting.
create or replace function postrider.any_waiting_action(p_queue text)
returns text
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
    with start as materialized (
        select e.action
        from postrider.execution e
        where e.id >= (
            select min(g.begins_after)
                + ceil(random() * (max(g.ends_with) - min(g.begins_after)))::bigint
            from postrider.execution_generation g
            where g.id >= (select s.last_value from postrider.oldest_generation s)
        )
        order by e.id
        limit 1
    )
    select min(l.action)
    from postrider.live_generation g
    cross join lateral (
        select l.action
        from postrider.live_execution l
        where l.generation = g.id
        and l.queue = p_queue
        and l.status = 'requested'
        and not l.is_delayed
        and l.action >= (select s.action from start s)
        order by l.action
        limit 1
    ) l;
$$;
