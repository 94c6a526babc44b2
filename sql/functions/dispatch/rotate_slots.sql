-- postrider.rotate_slots() → how many slots were emptied
--
-- Internal, by any dispatcher once a minute. When the present slot has been that for ten minutes, empties the
-- next one, and that is the present one then. A slot that still holds the newest checkpoint of a shard, or the
-- newest heartbeat of a dispatcher, is left as it is. Rows are kept for the time of two slots after the last was
-- written: a clock that is set forward makes one of the two short, and what dispatchers rely on outlives the
-- other. The newest heartbeat that is older than all that is not finished (done_before) is copied before its slot is
-- emptied: it tells below which number nothing is left (window.sql, pending_floor), however long that takes.
create or replace function postrider.rotate_slots()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    each constant interval := '10 minutes';
    -- What cannot be emptied by then, because somebody reads it all the time, is written to again.
    longest constant interval := '20 minutes';
    at constant timestamptz := clock_timestamp();
    since timestamptz;
    next_slot smallint;
    tables text[] := array['claim', 'rate_grant'];
    part text;
    emptied integer := 0;
    is_left boolean := false;
    finished_before xid8;
begin
    if not postrider.take_chore('slots') then
        return 0;
    end if;
    select (r.slot + 1) % 3, r.since
    into next_slot, since
    from postrider.rotation r
    where r.is_only_row
    for update skip locked;
    if not found or since between at - each and at then
        return 0;
    end if;
    if since > at then
        -- The clock was set back. Its time begins anew, so that rows are kept for long enough.
        update postrider.rotation r set since = at where r.is_only_row;
        return 0;
    end if;
    if not exists (
        select
        from postrider.shard s
        cross join lateral (
            select c.slot
            from postrider.checkpoint c
            where c.shards @> array[s.shard]
            order by c.seq desc
            limit 1
        ) newest
        where newest.slot = next_slot
    ) then
        tables := tables || array['checkpoint'];
    end if;
    if not exists (
        select
        from postrider.dispatcher d
        cross join lateral (
            select h.slot
            from postrider.heartbeat h
            where h.dispatcher = d.id
            order by h.seq desc
            limit 1
        ) newest
        where newest.slot = next_slot
    ) then
        tables := tables || array['heartbeat'];
        finished_before := postrider.done_before();
        -- As nobody's, whose lease is over.
        insert into postrider.heartbeat (
            slot, dispatcher, at, lease_until, xid, sequence_floor, horizon, statistics)
        select
            postrider.current_slot(), '00000000-0000-0000-0000-000000000000', h.at, 'epoch', h.xid,
            h.sequence_floor, h.horizon, '{}'
        from (
            select b.slot, b.at, b.xid, b.sequence_floor, b.horizon
            from postrider.heartbeat b
            where b.xid < finished_before
            order by b.xid desc
            limit 1
        ) h
        where h.slot = next_slot
        -- Where only a part of the slot could be emptied, it was copied before.
        and not exists (
            select
            from postrider.heartbeat o
            where o.xid = h.xid
            and o.slot <> next_slot
        );
    end if;
    foreach part in array tables loop
        emptied := emptied + postrider.empty_slot(part, next_slot)::integer;
        is_left := is_left or postrider.is_slot_filled(part, next_slot);
    end loop;
    delete from postrider.rate_turn t
    where t.endpoint_id in (
        select d.endpoint_id
        from postrider.rate_turn d
        where not exists (select from postrider.endpoints e where e.id = d.endpoint_id)
        for update of d skip locked
    );
    if not is_left or since < at - longest then
        update postrider.rotation r set slot = next_slot, since = at where r.is_only_row;
    end if;
    return emptied;
end;
$$;
