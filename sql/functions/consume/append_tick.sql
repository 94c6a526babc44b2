-- postrider.append_tick() → the id of the tick that it made; null when there is none to be made
--
-- Internal: tick, and fetch_messages where nobody else makes ticks. In a READ COMMITTED transaction
-- without a transaction id, on a primary. See tick.
--
-- One makes ticks at a time (tick_turn). Whoever finds that somebody is at it for longer than some moments
-- passes: the epoch rises, which all see at once, and no reader goes on to ticks of before; then the
-- last tick is looked for again, and this one is built on it. Whatever is between the two, and not seen
-- by then, does not count, should it come. Whoever sees that the epoch has risen after its id was drawn
-- makes no tick. What somebody has begun who died is ended by whoever comes next, by an empty tick if need be.
create or replace function postrider.append_tick()
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
declare
    look constant integer := 4000;
    -- A walk over ids may meet so many others for each message.
    density constant integer := 20;
    tick_interval constant interval := make_interval(secs => (
        select n.value::double precision / 1000
        from postrider.setting n
        where n.name = 'tick_interval_ms'
    ));
    former postrider.tick;
    last_tick postrider.tick;
    epoch bigint;
    is_settled boolean;
    has_turn boolean;
    is_passing boolean := false;
    top pg_snapshot;
    base_end xid8;
    stragglers xid8[];
    found record;
    ceiling bigint;
    floor_id bigint;
    new_id bigint;
begin
    if not exists (select from postrider.consumer c) then
        return null;
    end if;
    select t.* into former from postrider.tick t order by t.id desc limit 1;
    -- Left again where no tick is made: with it go the locks.
    begin
        -- Before anything is looked at: the re-base of an adopted log lets nobody build on what it takes away.
        lock table postrider.tick in row exclusive mode;
        has_turn := postrider.has_tick_turn('tick_turn', former.passes_after is null);
        if not has_turn then
            -- Those who pass do it one after the other, too, as far as they get on.
            perform postrider.has_tick_turn('tick_passing', true);
        end if;
        loop
            -- Each in a statement of its own, in this order: the last tick is seen by a snapshot that is younger
            -- than the lock and the epoch, and the tick's snapshot is younger still.
            if is_passing then
                epoch := nextval('postrider.tick_epoch');
                if epoch <= last_tick.epoch then
                    -- Sequences are not replicated with the rest.
                    epoch := setval('postrider.tick_epoch', last_tick.epoch + 1);
                end if;
            else
                epoch := coalesce(pg_sequence_last_value('postrider.tick_epoch'), 0);
            end if;
            select t.* into last_tick from postrider.tick t order by t.id desc limit 1;
            is_settled := epoch = coalesce(last_tick.epoch, 0);
            if is_settled
                and (
                    -- They get on.
                    not has_turn and last_tick.id is distinct from former.id
                    or last_tick.at > clock_timestamp() - tick_interval
                    and last_tick.at <= clock_timestamp())
            then
                raise no_data_found;
            end if;
            top := postrider.open_snapshot();
            base_end := coalesce(pg_snapshot_xmax(last_tick.snapshot), '3');
            if pg_snapshot_xmax(top) < base_end then
                raise exception
                    'Transaction ids went back: this log is from another cluster'
                    using errcode = '55000',
                        hint = 'The original hands out the same. If this one is to go on, run `postrider adopt`.';
            end if;
            stragglers := array(
                select x.xid
                from pg_snapshot_xip(last_tick.snapshot) x (xid)
                -- Each by its index, whatever the plan was made for.
                cross join lateral (
                    select from postrider.message m where m.xid = x.xid limit 1
                ) m
                where pg_visible_in_snapshot(x.xid, top)
                order by x.xid
            );
            select c.* into found from postrider.tick_content(base_end, top, stragglers, look) c;
            if is_settled and found.message_count = 0 then
                raise no_data_found;
            end if;
            exit when is_passing or is_settled and has_turn;
            is_passing := true;
        end loop;

        -- What the snapshot sees took its number before.
        select (s.last_value << 10) | 1023 into ceiling from postrider.message_sequence s;
        if found.message_count > look then
            found.message_count := null;
            found.last_id := ceiling;
            found.from_at := '-infinity';
            found.to_at := 'infinity';
            select (greatest(
                (
                    select t.sequence_floor
                    from postrider.tick t
                    where t.xid < base_end
                    -- Whoever passes has its id from a sequence before the floor is read: see heartbeat.
                    and t.passes_after is null
                    order by t.id desc
                    limit 1
                ), (
                    select h.sequence_floor
                    from postrider.heartbeat h
                    where h.xid < base_end
                    order by h.xid desc
                    limit 1
                ), 0) + 1) << 10
            into floor_id;
            found.first_id := floor_id;
        elsif found.message_count = 0 then
            found.last_id := ceiling;
            found.from_at := clock_timestamp();
            found.to_at := found.from_at;
        end if;

        new_id := nextval('postrider.tick_sequence');
        if new_id <= last_tick.id then
            -- Sequences are not replicated with the rest.
            new_id := setval('postrider.tick_sequence', last_tick.id + 1);
        end if;
        if coalesce(pg_sequence_last_value('postrider.tick_epoch'), 0) <> epoch then
            raise no_data_found;
        end if;
        insert into postrider.tick (
            id, epoch, passes_after, at, sequence_floor, xid, snapshot, base_xmax, stragglers, first_id,
            last_id, from_at, to_at, message_count, is_sparse)
        values (
            new_id, epoch, case when is_passing then coalesce(last_tick.id, 0) end,
            greatest(clock_timestamp(), last_tick.at, nullif(found.to_at, 'infinity')),
            ceiling >> 10, pg_current_xact_id(), top, base_end, stragglers,
            coalesce(found.first_id, found.last_id + 1), found.last_id, found.from_at, found.to_at,
            found.message_count,
            coalesce(
                found.message_count::bigint * density < (found.last_id >> 10) - (found.first_id >> 10),
                false));
        perform postrider.ring('postrider:' || c.name, '')
        from postrider.consumer c;
        return new_id;
    exception
        when no_data_found then
            return null;
    end;
end;
$$;
