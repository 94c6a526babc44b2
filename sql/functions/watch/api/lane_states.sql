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
    states := postrider.known_lanes();
    runs := array(
        select distinct n.run
        from (
            select l.value -> 'open' as ranges
            from jsonb_each(states -> 'lanes') l
            union
            select h.value -> 'open'
            from jsonb_each(states -> 'shards') h
        ) o
        cross join lateral jsonb_array_elements(o.ranges) r
        cross join lateral generate_series(
            (r.value ->> 0)::bigint >> 16,
            least((r.value ->> 1)::bigint >> 16, ((r.value ->> 0)::bigint >> 16) + looked_at_runs))
            n (run)
        order by n.run
        limit looked_at_runs
    );
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
