-- postrider.heartbeat(dispatcher, statistics, silent_ids, silent_seqs) → whether its lease goes on, what there is
-- to own, and the newest heartbeats of the others
--
-- Internal. Appends a heartbeat that extends the lease, or appends nothing and answers is_alive =
-- false when somebody has ended the lease (take_shards). The silent ones are others that the caller takes
-- for dead. The shared lock keeps takeovers out until commit, so a heartbeat and a takeover never cross. It writes
-- postrider.heartbeat alone and reads as little as can be: it waits for no row.
create or replace function postrider.heartbeat(
    p_dispatcher uuid,
    p_statistics jsonb,
    p_silent_ids uuid[] default null,
    p_silent_seqs bigint[] default null)
returns table (
    is_alive boolean,
    lease_ms bigint,
    takeable_count integer,
    share integer,
    shards smallint[],
    epochs bigint[],
    now_us bigint,
    floor_xid xid8,
    sequence_floor bigint,
    other_ids uuid[],
    other_seqs bigint[],
    other_lease_ms bigint[])
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    at timestamptz;
    lease interval;
    newest timestamptz;
    live uuid[];
    live_count integer;
    shard_count integer;
begin
    lock table postrider.fence in row share mode;
    -- After the wait, in which the clock may have been set back.
    at := clock_timestamp();
    select make_interval(secs => s.value::double precision)
    into lease
    from postrider.setting s
    where s.name = 'stale_recovery_timeout';

    select h.lease_until
    into newest
    from postrider.heartbeat h
    where h.dispatcher = p_dispatcher
    order by h.seq desc
    limit 1;
    is_alive := newest is distinct from 'epoch'
        and exists (select from postrider.dispatcher d where d.id = p_dispatcher);

    if is_alive then
        -- Read before this transaction has an id: whoever gets a higher one numbers above it.
        -- A sequence that nobody has used yet says 1 although 1 is still to come.
        select s.last_value - (not s.is_called)::integer
        into sequence_floor
        from postrider.message_sequence s;
        floor_xid := pg_current_xact_id();
        insert into postrider.heartbeat (
            slot, dispatcher, at, lease_until, xid, sequence_floor, horizon, statistics)
        values (
            postrider.current_slot(), p_dispatcher, at, at + lease,
            floor_xid, heartbeat.sequence_floor, pg_snapshot_xmin(pg_current_snapshot()), p_statistics);
    end if;

    select coalesce(array_agg(l.id), '{}')
    into live
    from postrider.live_dispatchers(p_silent_ids, p_silent_seqs) l (id);
    select
        coalesce(array_agg(d.id), '{}'), coalesce(array_agg(other.seq), '{}'),
        coalesce(array_agg((extract(epoch from other.lease_until - other.at) * 1000)::bigint), '{}')
    into other_ids, other_seqs, other_lease_ms
    from postrider.dispatcher d
    cross join lateral (
        select h.seq, h.at, h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) other
    where d.id <> p_dispatcher
    and other.lease_until <> 'epoch';
    lease_ms := (extract(epoch from lease) * 1000)::bigint;
    live_count := greatest(cardinality(live), 1);
    select
        count(*),
        count(*) filter (where s.owner is null or s.owner <> all (live)),
        coalesce(array_agg(s.shard order by s.shard) filter (where s.owner = p_dispatcher), '{}'),
        coalesce(array_agg(s.epoch order by s.shard) filter (where s.owner = p_dispatcher), '{}')
    into shard_count, takeable_count, shards, epochs
    from postrider.shard s;
    -- What does not divide evenly goes to the first of the living, so that nobody stays without.
    select shard_count / greatest(live_count, 1)
        + (count(*) < shard_count % greatest(live_count, 1))::integer
    into share
    from unnest(live) l (id)
    where l.id < p_dispatcher;
    now_us := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    return next;
end;
$$;
