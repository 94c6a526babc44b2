-- postrider.lane_states() → where the readers of each lane stand, from the newest checkpoint of each shard
--
-- Application, operator, admin, monitor: the view queue calls it once, for may_wait. `lanes` has the state of each lane
-- that has one of its own, `shards` that of all others of a shard, `done_before` is what done_before() says, and `done`
-- has the sequence numbers that were done since, of no more than 5,000 that were open then: a checkpoint is half a second
-- old, and what was in hand then would be looked up message by message. Uses checkpoint_seq, from its end, and done_run.
create or replace function postrider.lane_states()
returns jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    looked_at_runs constant integer := 78;
    states jsonb;
    runs bigint[];
    finished jsonb;
begin
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
                ), '{}')),
        array(
            select distinct n.run
            from grouped g
            cross join lateral jsonb_array_elements(g.state -> 'open') r
            cross join lateral generate_series(
                (r.value ->> 0)::bigint >> 16,
                least(
                    (r.value ->> 1)::bigint >> 16,
                    ((r.value ->> 0)::bigint >> 16) + looked_at_runs)) n (run)
            order by n.run
            limit looked_at_runs
        )
    into states, runs;
    -- Mostly nothing is open, and then nothing is opened to look for it.
    if cardinality(runs) > 0 then
        select jsonb_object_agg(
            (r.run >> 6 << 12) + get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1), true)
        into finished
        from unnest(runs) r (run)
        cross join lateral (
            -- Fetched once, not byte by byte.
            select o.offsets || ''::bytea as offsets
            from postrider.done o
            where o.bucket = r.run >> 6
            and o.run = (r.run & 63)::smallint
            offset 0
        ) d
        cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i;
    end if;
    return states || jsonb_build_object('done', coalesce(finished, '{}'));
end;
$$;
