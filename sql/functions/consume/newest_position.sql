-- postrider.newest_position(consumer_id, partition) → how far it is read
--
-- Internal. A plain SQL function, so that the planner puts it in its place. Uses
-- consumer_position_newest, from its end.
create or replace function postrider.newest_position(p_consumer_id integer, p_partition integer)
returns setof postrider.consumer_position
language sql
stable
as $$
    select p.*
    from postrider.consumer_position p
    where p.consumer_id = p_consumer_id
    and p.partition = p_partition
    order by p.seq desc
    limit 1;
$$;
