-- postrider.known_lanes() → where the readers of each lane stand, from the newest checkpoint of each shard
--
-- Internal: lane_states, log_ranges, left_kinds, left_names. `lanes` has the state of each lane that has one of its own,
-- `shards` that of all others of a shard, `done_before` is what done_before() says. Uses checkpoint_seq, from its end.
create or replace function postrider.known_lanes()
returns jsonb
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with newest as materialized (
        select s.shard, c.seq, c.state, c.done_xmin
        from postrider.shard s
        cross join lateral (
            select k.seq, k.state, k.done_xmin
            from postrider.checkpoint k
            where k.shards @> array[s.shard]
            order by k.seq desc
            limit 1
        ) c
    ), grouped as materialized (
        -- One checkpoint is about many shards.
        select c.seq, g.value -> 'state' as state, g.value -> 'lanes' as lanes
        from (select distinct on (n.seq) n.seq, n.state from newest n order by n.seq) c
        cross join lateral jsonb_array_elements(c.state) g
    )
    select
        jsonb_build_object(
            'done_before', (
                select
                    case
                        when count(*) = postrider.shard_count()
                        then min(n.done_xmin::text::numeric)::text
                        else '3'
                    end
                from newest n
            ),
            'lanes', coalesce(
                (
                    select jsonb_object_agg(l.lane, g.state)
                    from grouped g
                    cross join lateral jsonb_array_elements_text(g.lanes) l (lane)
                    join newest n on n.seq = g.seq
                    and n.shard = l.lane::integer >> 4
                ), '{}'),
            'shards', coalesce(
                (
                    select jsonb_object_agg(n.shard, g.state)
                    from grouped g
                    join newest n on n.seq = g.seq
                    where g.lanes is null
                ), '{}'));
$$;
