-- postrider.any_waiting_action(queue) → an action that waits in the queue, or null
--
-- Internal, by schedule_queue: where to go on when there are too many to look at all of them. That of the
-- execution with the next id behind a random one of a random generation. Uses live_execution_pkey.
create or replace function postrider.any_waiting_action(p_queue text)
returns text
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
    with start as materialized (
        select g.begins_after + ceil(random() * (g.ends_with - g.begins_after))::bigint as id
        from postrider.execution_generation g
        order by random()
        limit 1
    )
    select n.action
    from (
        select l.action, l.queue, l.status, l.is_delayed
        from postrider.live_execution l
        where l.id >= (select s.id from start s)
        order by l.id
        limit 100
    ) n
    where n.queue = p_queue
    and n.status = 'requested'
    and not n.is_delayed
    limit 1;
$$;
