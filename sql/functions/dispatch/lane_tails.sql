-- postrider.lane_tails() → up to where each lane of the log is read
--
-- Internal. By the newest checkpoint of its shard: everything that `base` sees, and in the window up to
-- `top`, if the lane is walked through, everything up to the id `walked`. One row per lane. Uses
-- checkpoint_seq, from its end.
create or replace function postrider.lane_tails()
returns table (lane smallint, base pg_snapshot, top pg_snapshot, walked bigint)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        (s.shard * 16 + p.place)::smallint,
        -- Before everything: nobody has read it yet.
        coalesce(g.tail ->> 'base', '4:4:')::pg_snapshot,
        (g.tail #>> '{window,top}')::pg_snapshot,
        (g.tail #>> '{window,id}')::bigint
    from postrider.shard s
    cross join unnest(array[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15]) p (place)
    left join lateral (
        select c.state
        from postrider.checkpoint c
        where c.shards @> array[s.shard]
        order by c.seq desc
        limit 1
    ) newest on true
    left join lateral (
        -- A group without lanes stands for all that no other group names.
        select e.value #> '{state,tail}' as tail
        from jsonb_array_elements(newest.state) e
        where not e.value ? 'lanes'
        or e.value -> 'lanes' @> to_jsonb(s.shard * 16 + p.place)
        order by e.value ? 'lanes' desc
        limit 1
    ) g on true;
$$;
