-- postrider.any_waiting_action(queue) → an action that waits in the queue, or null
--
-- Internal, by schedule_queue: where to go on when there are too many to look at all of them. That of the
-- execution with the next id behind a random one. Uses live_execution_pkey.
create or replace function postrider.any_waiting_action(p_queue text)
returns text
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
    with bounds as materialized (
        select
            (select min(l.id) from postrider.live_execution l) as lowest,
            (select max(l.id) from postrider.live_execution l) as highest
    ), start as materialized (
        select b.lowest + floor(random() * (b.highest - b.lowest + 1))::bigint as id
        from bounds b
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
