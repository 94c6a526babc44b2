-- postrider.append_tick() → the id of the tick that it made; null when there is none to be made
--
-- Internal: tick, and fetch_messages where nobody else makes ticks. In a READ COMMITTED transaction
-- without a transaction id, on a primary. See tick.
--
-- The tick is readable when this transaction has ended, and until then nobody else makes one: so
-- PostgreSQL ends a transaction that has made a tick and idles.
--
-- Transactions that are in progress are never looked at, however much they wrote: the transactions
-- that have ended since the tick before lie in the gaps between those.
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
    patience constant interval := '5 seconds';
    last_tick postrider.tick;
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
    -- Left again where no tick is made: with it goes the lock.
    begin
        if not pg_try_advisory_xact_lock(1886352244, 1004) then
            raise no_data_found;
        end if;
        -- Each in a statement of its own, in this order: the last tick is seen by a snapshot that is younger
        -- than the lock, and the tick's snapshot is younger still.
        select t.* into last_tick from postrider.tick t order by t.id desc limit 1;
        if last_tick.at > clock_timestamp() - make_interval(secs => (
                select s.value::double precision / 1000
                from postrider.setting s
                where s.name = 'tick_interval_ms'
            ))
            and last_tick.at <= clock_timestamp()
        then
            raise no_data_found;
        end if;
        top := pg_current_snapshot();
        base_end := coalesce(pg_snapshot_xmax(last_tick.snapshot), '3');
        if pg_snapshot_xmax(top) < base_end then
            raise exception
                'Transaction ids went back: this log is from another cluster; start a dispatcher, which puts it right'
                using errcode = '55000';
        end if;
        stragglers := array(
            select x.xid
            from pg_snapshot_xip(last_tick.snapshot) x (xid)
            where pg_visible_in_snapshot(x.xid, top)
            and exists (select from postrider.message m where m.xid = x.xid)
            order by x.xid
        );

        with gaps as (
            select
                g.first_xid,
                lead(g.last_xid, 1, pg_snapshot_xmax(top)) over (order by g.first_xid) as end_xid
            from (
                select base_end as first_xid, null::xid8 as last_xid
                union all
                select (x.xid::text::bigint + 1)::text::xid8, x.xid
                from pg_snapshot_xip(top) x (xid)
                where x.xid >= base_end
            ) g
        )
        select
            count(*)::integer as message_count,
            min(r.id) filter (where not r.is_late) as first_id,
            max(r.id) as last_id,
            min(r.created_at) as from_at,
            max(r.created_at) as to_at
        into found
        from (
            (
                select m.id, m.created_at, false as is_late
                from gaps g
                cross join lateral (
                    select n.id, n.created_at
                    from postrider.message n
                    where n.xid >= g.first_xid
                    and n.xid < g.end_xid
                    limit look + 1
                ) m
            )
            union all
            (
                select m.id, m.created_at, true
                from unnest(stragglers) x (xid)
                cross join lateral (
                    select n.id, n.created_at
                    from postrider.message n
                    where n.xid = x.xid
                    limit look + 1
                ) m
            )
            limit look + 1
        ) r;
        if found.message_count = 0 then
            raise no_data_found;
        end if;

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
        end if;

        new_id := nextval('postrider.tick_sequence');
        if new_id <= last_tick.id then
            -- Sequences are not replicated with the rest.
            new_id := setval('postrider.tick_sequence', last_tick.id + 1);
        end if;
        insert into postrider.tick (
            id, at, sequence_floor, xid, snapshot, base_xmax, stragglers, first_id, last_id, from_at, to_at,
            message_count, is_sparse)
        values (
            new_id, greatest(clock_timestamp(), last_tick.at, nullif(found.to_at, 'infinity')),
            ceiling >> 10, pg_current_xact_id(), top,
            base_end, stragglers, coalesce(found.first_id, found.last_id + 1), found.last_id, found.from_at,
            found.to_at, found.message_count,
            coalesce(
                found.message_count::bigint * density < (found.last_id >> 10) - (found.first_id >> 10),
                false));
        perform pg_notify('postrider:' || c.name, '')
        from postrider.consumer c;
        if current_setting('idle_in_transaction_session_timeout')::interval
            not between interval '1 millisecond' and patience
        then
            perform set_config('idle_in_transaction_session_timeout', '5s', true);
        end if;
        return new_id;
    exception
        when no_data_found then
            return null;
    end;
end;
$$;
