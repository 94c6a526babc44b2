-- postrider.consumer_start(ordering, start) → where a consumer begins
--
-- Internal: create_consumer, reset_consumer. Behind this message of this tick or transaction; what
-- start_snapshot sees is left out if its id is below start_id, what was created before start_at, too.
-- Raises 22004 (a null), 22023 (neither of the four forms), 42704 (no such message). Uses tick_id,
-- message_id, message_created_at.
--
-- What this transaction has sent and will send counts as in progress, so that a consumer that begins now gets it.
create or replace function postrider.consumer_start(p_ordering text, p_start text)
returns table (
    tick bigint,
    xid xid8,
    message_id bigint,
    start_snapshot pg_snapshot,
    start_id bigint,
    start_at timestamptz)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
#variable_conflict use_column
declare
    last_id constant bigint := 9223372036854775807;
    seen pg_snapshot;
    newest_tick bigint;
    first postrider.message;
begin
    if p_start is null then
        raise exception 'p_start must not be null' using errcode = '22004';
    end if;
    -- PostgreSQL would read `NOW` as a time, which is something else.
    p_start := lower(btrim(p_start));
    -- In this order: what a tick holds that comes between the two was not seen.
    select coalesce(max(t.id), 0)
    into newest_tick
    from (select k.id from postrider.tick k order by k.id desc limit 1) t;
    seen := postrider.open_snapshot();

    tick := case when p_ordering = 'commit' then 0 end;
    xid := case when p_ordering = 'transaction' then '0'::xid8 end;
    message_id := 0;
    if p_start = 'beginning' then
        null;
    elsif p_start = 'now' then
        start_snapshot := seen;
        -- What it sees took its number before.
        select (s.last_value + 1) << 10 into start_id from postrider.message_sequence s;
        -- All below is seen, or was rolled back.
        tick := case when p_ordering = 'commit' then newest_tick end;
        xid := case when p_ordering = 'transaction' then pg_snapshot_xmin(seen) end;
        message_id := case when p_ordering = 'commit' then last_id else 0 end;
    elsif p_start ~ '^[0-9]{1,18}$' then
        select m.* into first from postrider.message m where m.id = p_start::bigint;
        if not found then
            raise exception 'Message % does not exist', p_start using errcode = '42704';
        end if;
        -- The last id that one with a lower number can have.
        message_id := (first.id >> 10 << 10) - 1;
        if p_ordering = 'transaction' then
            xid := first.xid;
        else
            select min(t.id)
            into tick
            from postrider.tick t
            where pg_visible_in_snapshot(first.xid, t.snapshot)
            and not postrider.passed_ticks(0) @> t.id;
            if tick is null then
                -- In the next one.
                tick := newest_tick;
                message_id := last_id;
                start_snapshot := seen;
                start_id := first.id;
            end if;
        end if;
    else
        begin
            start_at := p_start::timestamptz;
            if not isfinite(start_at) then
                raise invalid_datetime_format;
            end if;
        exception
            when others then
                raise exception
                    'p_start must be ''beginning'', ''now'', a time or a message id, got ''%''',
                    left(p_start, 100) using errcode = '22023';
        end;
        if p_ordering = 'commit' then
            -- No message in a tick was created after the tick.
            select coalesce(min(t.id), newest_tick + 1) - 1
            into tick
            from postrider.tick t
            where t.at >= start_at;
            message_id := last_id;
        else
            -- There is no min of xid8 in PostgreSQL 14.
            select min(m.xid::text::bigint)::text::xid8
            into xid
            from postrider.message m
            where m.created_at >= start_at;
            -- Those that are open may be older.
            xid := least(xid, pg_snapshot_xmin(seen));
        end if;
    end if;
    return next;
end;
$$;
