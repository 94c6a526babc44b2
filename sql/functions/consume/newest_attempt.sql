-- postrider.newest_attempt(consumer_id, partition) → the batch that was begun last
--
-- Internal. A plain SQL function, so that the planner puts it in its place. Uses
-- consumer_attempt_newest, from its end.
create or replace function postrider.newest_attempt(p_consumer_id integer, p_partition integer)
returns setof postrider.consumer_attempt
language sql
stable
as $$
    select a.*
    from postrider.consumer_attempt a
    where a.consumer_id = p_consumer_id
    and a.partition = p_partition
    order by a.seq desc
    limit 1;
$$;
