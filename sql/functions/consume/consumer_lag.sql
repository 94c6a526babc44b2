-- postrider.consumer_lag(consumer, partition) → how much it has not acknowledged, and since when
--
-- Internal. Of what is committed, whether or not it is in a tick: how many messages, when the oldest of
-- them was created, and, of those that ordering `transaction` cannot read yet because an older transaction
-- is open, the oldest. A look at so many messages, or ticks: where there is more, the number is what these
-- tell of the rest, by sequence numbers. Uses tick_id and what consumer_messages uses.
create or replace function postrider.consumer_lag(p_consumer postrider.consumer, p_partition integer)
returns table (message_count bigint, oldest_at timestamptz, blocked_at timestamptz)
language plpgsql
stable
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
    most_ticks constant integer := 2000;
    oldest_xid constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
    look integer := 10000;
    known postrider.consumer_position;
    newest record;
    ahead record;
    looked record;
    late record;
    last_number bigint;
    rest double precision := 0;
begin
    -- What it reads is then what it looks at.
    if p_consumer.type_patterns is null and p_consumer.filter is null
        and p_consumer.partition_count = 1 and p_consumer.start_id is null
        and p_consumer.start_at is null
    then
        look := 1000;
    end if;
    select p.* into known from postrider.newest_position(p_consumer.id, p_partition) p;
    select s.last_value into last_number from postrider.message_sequence s;
    select t.id, t.snapshot into newest from postrider.tick t order by t.id desc limit 1;
    -- For ordering `transaction` none.
    select n.to_tick, n.tick_count < most_ticks as is_end, n.span
    into ahead
    from postrider.next_ticks(known.tick, known.message_id, most_ticks) n;

    select
        count(*) as found_count,
        count(*) filter (where m.is_wanted) as wanted_count,
        min(m.created_at) filter (where m.is_wanted) as oldest_at,
        -- A few may be much older than the others.
        percentile_disc(0.1) within group (order by m.id) >> 10 as from_number,
        max(m.id) >> 10 as to_number
    into looked
    from (
        select
            t.id, t.created_at,
            postrider.is_wanted(
                p_consumer, p_partition, t.id, t.xid, t.created_at, t.event_type, t.ordering_key,
                t.payload) as is_wanted
        from postrider.tick_messages(
            known.tick, known.message_id, ahead.to_tick, look, ahead.span) t
        union all
        select
            x.id, x.created_at,
            postrider.is_wanted(
                p_consumer, p_partition, x.id, x.xid, x.created_at, x.event_type, x.ordering_key,
                x.payload)
        from postrider.visible_messages(known.xid, known.message_id, look) x
    ) m;
    message_count := looked.wanted_count;
    oldest_at := looked.oldest_at;

    if known.tick is not null and looked.found_count < look and ahead.is_end then
        -- What is in no tick yet.
        select
            count(*) as found_count,
            count(*) filter (where m.is_wanted) as wanted_count,
            min(m.created_at) filter (where m.is_wanted) as oldest_at,
            percentile_disc(0.1) within group (order by m.id) >> 10 as from_number,
            max(m.id) >> 10 as to_number
        into late
        from (
            select
                n.id, n.created_at,
                postrider.is_wanted(
                    p_consumer, p_partition, n.id, n.xid, n.created_at, n.event_type, n.ordering_key,
                    n.payload) as is_wanted
            from (
                select v.id, v.xid, v.created_at, v.event_type, v.ordering_key, v.payload
                from postrider.visible_messages(
                    coalesce(pg_snapshot_xmax(newest.snapshot), '3'), 0, look) v
                union all
                select l.id, l.xid, l.created_at, l.event_type, l.ordering_key, l.payload
                from pg_snapshot_xip(newest.snapshot) s (xid)
                cross join lateral (
                    select w.id, w.xid, w.created_at, w.event_type, w.ordering_key, w.payload
                    from postrider.message w
                    where w.xid = s.xid
                    limit look
                ) l
                where pg_visible_in_snapshot(s.xid, pg_current_snapshot())
                limit look
            ) n
        ) m;
        message_count := message_count + late.wanted_count;
        oldest_at := least(oldest_at, late.oldest_at);
        looked := late;
    end if;
    if looked.found_count = look then
        rest := greatest(postrider.number_distance(looked.to_number, last_number), 0) * least(
            0.9 * looked.wanted_count
            / (postrider.number_distance(looked.from_number, looked.to_number) + 1), 1);
    elsif not ahead.is_end then
        -- Ticks with a message or two each, or none any more.
        select greatest(postrider.number_distance(t.last_id >> 10, last_number), 0)
            * coalesce(1.0 * looked.wanted_count / nullif(looked.found_count, 0), 1.0)
        into rest
        from postrider.tick t
        where t.id <= ahead.to_tick
        order by t.id desc
        limit 1;
    end if;
    message_count := message_count + round(rest)::bigint;

    if known.xid is not null then
        select min(x.created_at)
        into blocked_at
        from postrider.visible_messages(
            greatest(known.xid, oldest_xid),
            case when known.xid >= oldest_xid then known.message_id else 0 end, look) x
        where postrider.is_wanted(
            p_consumer, p_partition, x.id, x.xid, x.created_at, x.event_type, x.ordering_key, x.payload);
    end if;
    return next;
end;
$$;
