-- postrider.shard_reports() → the newest heartbeats that speak of each shard
--
-- Internal. Of every shard the newest heartbeat that names it counts, whoever it is from: its owner's,
-- or that of the last one who had it. `share` is how much of a heartbeat counts: the part of its shards
-- that nobody else has spoken of since. Looks at the newest 2,000 heartbeats at most. Uses
-- heartbeat_xid, from its end.
create or replace function postrider.shard_reports()
returns table (dispatcher uuid, at timestamptz, share double precision, statistics jsonb)
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    missing smallint[];
    named smallint[];
    left_over smallint[];
    beat record;
begin
    select coalesce(array_agg(s.shard), '{}') into missing from postrider.shard s;
    for beat in
        select h.dispatcher, h.at, h.statistics
        from postrider.heartbeat h
        order by h.xid desc
        limit 2000
    loop
        exit when missing = '{}';
        select
            coalesce(array_agg(n.shard::smallint), '{}'),
            coalesce(array_agg(n.shard::smallint) filter (where n.shard::smallint = any (missing)), '{}')
        into named, left_over
        from jsonb_array_elements_text(beat.statistics -> 'shards') n (shard);
        continue when left_over = '{}';
        dispatcher := beat.dispatcher;
        at := beat.at;
        share := cardinality(left_over) / cardinality(named)::double precision;
        statistics := beat.statistics;
        return next;
        select coalesce(array_agg(m.shard), '{}')
        into missing
        from unnest(missing) m (shard)
        where m.shard <> all (named);
    end loop;
end;
$$;
