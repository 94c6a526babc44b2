-- postrider.take_shards(dispatcher, limit, silent_ids, silent_seqs) → the shards taken, each with its new epoch and its
-- last owner (null after an orderly release, unless an earlier one is in `unrecovered`)
--
-- Internal. Takes shards that nobody owns or whose owner's lease is over (live_dispatchers). Such an owner
-- has lost it for good: its next heartbeat is refused. The exclusive lock
-- waits for every flush and heartbeat under way, so all that the last owner recorded is visible to
-- the next statement, and anything that it tries to record later is refused by its epoch.
-- What the server sends before it commits has to fit into the buffers of the connection: a dispatcher that stands still
-- and does not read would keep the lock. So checkpoints are read by the next statement (newest_checkpoints.sql).
-- Raises 55P03 when a flush hangs: see end_stale_flushes.
create or replace function postrider.take_shards(
    p_dispatcher uuid,
    p_limit integer,
    p_silent_ids uuid[] default null,
    p_silent_seqs bigint[] default null)
returns table (shard smallint, epoch bigint, last_owner uuid)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '1s'
as $$
declare
    live uuid[];
    sequence_floor bigint;
begin
    lock table postrider.fence in exclusive mode;
    select coalesce(array_agg(l.id), '{}')
    into live
    from postrider.live_dispatchers(p_silent_ids, p_silent_seqs) l (id);
    if p_dispatcher <> all (live) then
        return;
    end if;
    -- Read before this transaction has an id: see heartbeat.
    select s.last_value - (not s.is_called)::integer
    into sequence_floor
    from postrider.message_sequence s;
    -- By a heartbeat that ends the lease for good, and that waits for no row.
    insert into postrider.heartbeat (
        slot, dispatcher, at, lease_until, xid, sequence_floor, horizon, statistics)
    select
        postrider.current_slot(), d.id, clock_timestamp(), 'epoch', pg_current_xact_id(), sequence_floor,
        pg_snapshot_xmin(pg_current_snapshot()), '{}'
    from postrider.dispatcher d
    cross join lateral (
        select h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where d.id <> all (live)
    and newest.lease_until <> 'epoch';

    return query
    with takeable as (
        select s.shard, s.owner
        from postrider.shard s
        where s.owner is null
        or s.owner <> all (live)
        order by s.owner nulls last, s.shard
        limit p_limit
    ), taken as (
        update postrider.shard s
        set owner = p_dispatcher,
            epoch = s.epoch + 1,
            -- Until recover_claims was there: whoever takes it over may die before. Who has claimed nothing is not asked for.
            unrecovered = case
                when exists (select from postrider.claim c where c.owner = t.owner)
                    then s.unrecovered || t.owner
                else s.unrecovered
            end
        from takeable t
        where s.shard = t.shard
        returning s.shard, s.epoch, t.owner, s.unrecovered
    ), logged as (
        insert into postrider.event_log (event, details)
        select
            'lease.taken_over',
            jsonb_build_object('shards', jsonb_agg(t.shard), 'from', t.owner, 'by', p_dispatcher)
        from taken t
        where t.owner is not null
        group by t.owner
    )
    select t.shard, t.epoch, coalesce(t.owner, t.unrecovered[cardinality(t.unrecovered)])
    from taken t;
end;
$$;
