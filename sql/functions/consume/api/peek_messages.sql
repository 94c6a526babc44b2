-- postrider.peek_messages(consumer, limit, after_tick, after_transaction, after_message) → what comes next
--
-- Consumer, application, admin. What a consumer has not acknowledged, of all its partitions, in its order. Takes
-- nothing: no lock, no note, whoever reads the consumer is not disturbed, and what they have in hand is
-- among it. Goes on behind a message that it returned before: of that tick (ordering `commit`) or that
-- transaction (ordering `transaction`); without a message, behind the whole tick or transaction. Raises
-- 22004 (a null name), 22023 (a limit out of its range), 42704 (no such consumer). Uses what
-- consumer_messages uses.
create or replace function postrider.peek_messages(
    p_consumer text,
    p_limit integer default 100,
    p_after_tick bigint default null,
    p_after_transaction xid8 default null,
    p_after_message bigint default null)
returns table (
    "position" bigint,
    partition integer,
    transaction_id xid8,
    message_id bigint,
    message_type text,
    data jsonb,
    headers jsonb,
    metadata jsonb,
    scheduled timestamptz,
    tick bigint,
    created_at timestamptz,
    ordering_key text,
    correlation_id uuid,
    body bytea,
    content_type text)
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
#variable_conflict use_column
declare
    most_messages constant integer := 10000;
    -- Messages, or ticks, that are looked at in one go.
    look constant integer := 10000;
    most_ticks constant integer := 2000;
    last_id constant bigint := 9223372036854775807;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    whole postrider.consumer := reader;
    -- Where each partition is.
    ticks bigint[];
    xids xid8[];
    ids bigint[];
    place record;
    cut record;
    ahead record;
    message_count bigint;
    found_count bigint := 0;
begin
    if p_limit is null or p_limit not between 1 and most_messages then
        raise exception 'p_limit must be between 1 and %, got %', most_messages,
            coalesce(p_limit::text, 'null') using errcode = '22023';
    end if;
    -- One walk over what all its partitions read.
    whole.partition_count := 1;
    select
        array_agg(p.tick order by p.partition), array_agg(p.xid order by p.partition),
        array_agg(p.message_id order by p.partition)
    into ticks, xids, ids
    from generate_series(0, reader.partition_count - 1) g (partition)
    cross join lateral postrider.newest_position(reader.id, g.partition) p;
    select p.tick, p.xid, p.id
    into place
    from unnest(ticks, xids, ids) p (tick, xid, id)
    order by p.tick, p.xid, p.id
    limit 1;
    if coalesce(
            (p_after_tick, coalesce(p_after_message, last_id)) > (place.tick, place.id),
            (p_after_transaction, coalesce(p_after_message, last_id)) > (place.xid, place.id))
    then
        select
            case when place.tick is not null then p_after_tick end as tick,
            case when place.xid is not null then p_after_transaction end as xid,
            coalesce(p_after_message, last_id) as id
        into place;
    end if;
    loop
        select n.to_tick, n.tick_count, n.span
        into ahead
        from postrider.next_ticks(place.tick, place.id, most_ticks) n;
        return query
        select
            m.id >> 10, k.partition, m.xid, m.id, m.event_type, m.payload, m.headers, m.metadata,
            m.scheduled_at, m.tick, m.created_at, m.ordering_key, m.correlation_id, m.body,
            m.content_type
        from postrider.consumer_messages(
            whole, 0, place.tick, place.xid, place.id, ahead.to_tick, look, ahead.span) m
        cross join lateral (
            select postrider.message_partition(m.ordering_key, m.id, reader.partition_count)
        ) k (partition)
        where case
            when place.tick is not null then (m.tick, m.id) > (ticks[k.partition + 1], ids[k.partition + 1])
            else (m.xid, m.id) > (xids[k.partition + 1], ids[k.partition + 1])
        end
        limit p_limit - found_count;
        get diagnostics message_count = row_count;
        found_count := found_count + message_count;
        exit when found_count >= p_limit;

        select c.tick, c.xid, c.id
        into cut
        from (
            select t.tick, t.xid, t.id
            from postrider.tick_messages(place.tick, place.id, ahead.to_tick, look, ahead.span) t
            union all
            select null, x.xid, x.id
            from postrider.transaction_messages(place.xid, place.id, look) x
        ) c
        offset look - 1;
        exit when cut.id is null and (place.tick is null or ahead.tick_count < most_ticks);
        select
            case when place.tick is not null then coalesce(cut.tick, ahead.to_tick) end as tick,
            case when place.xid is not null then cut.xid end as xid,
            coalesce(cut.id, last_id) as id
        into place;
    end loop;
end;
$$;
