-- postrider.read_partition(consumer, partition, limit) → the next messages of it
--
-- Internal: fetch_messages, which holds the partition's lock. Notes in the transaction what it has handed out,
-- for acknowledge (postrider.fetched_…, a setting that ends with the transaction, or is rolled back with a
-- savepoint, as the lock is). What it passes without finding anything the consumer wants it writes down, so
-- that nobody walks over it again. Uses what consumer_messages uses.
--
-- Where nothing is new it looks at neither ticks nor the log: a consumer that waits in its transaction would
-- keep both locked, and partitions could not be made or dropped.
create or replace function postrider.read_partition(
    p_consumer postrider.consumer, p_partition integer, p_limit integer)
returns table (
    tick bigint,
    id bigint,
    xid xid8,
    created_at timestamptz,
    scheduled_at timestamptz,
    correlation_id uuid,
    event_type text,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
#variable_conflict use_column
declare
    -- Messages, and ticks, that are looked at in one go, and how long one call passes unwanted ones.
    look integer := greatest(10000, p_limit);
    tick_look integer := 2000;
    passing constant interval := '500 milliseconds';
    sign_of_life constant interval := '10 seconds';
    began constant timestamptz := clock_timestamp();
    -- It reads all of the log.
    is_whole constant boolean :=
        p_consumer.type_patterns is null and p_consumer.filter is null
        and p_consumer.partition_count = 1 and p_consumer.start_id is null
        and p_consumer.start_at is null;
    known postrider.consumer_position;
    moved postrider.consumer_position;
    ahead record;
    to_xid xid8;
begin
    -- Then a page is all that has to be looked at, and there is no tick without a message.
    if is_whole then
        look := p_limit;
        tick_look := least(p_limit, tick_look);
    end if;
    select p.* into known from postrider.newest_position(p_consumer.id, p_partition) p;

    loop
        -- Now and then it is looked for all the same.
        exit when postrider.is_at_end(known) and known.fetched_at > began - sign_of_life;
        select n.to_tick, n.tick_count, n.span
        into ahead
        from postrider.next_ticks(known.tick, known.message_id, tick_look, p_has_own => false) n;
        exit when known.tick is not null and ahead.tick_count = 0;
        -- What ends meanwhile must not be passed unseen.
        to_xid := pg_snapshot_xmin(pg_current_snapshot());
        -- The last row is noted as it passes by: another look at the page would cost as much as the page.
        return query
        select
            p.tick, p.id, p.xid, p.created_at, p.scheduled_at, p.correlation_id, p.event_type,
            p.ordering_key, p.headers, p.metadata, p.payload, p.body, p.content_type
        from (
            select m.*, row_number() over () as number, count(*) over () as page_count
            from (
                select c.*
                from postrider.consumer_messages(
                    p_consumer, p_partition, known.tick, known.xid, known.message_id, ahead.to_tick,
                    look, ahead.span, to_xid) c
                limit p_limit
            ) m
        ) p
        where p.number < p.page_count
        or postrider.note_page(
            p_consumer.id, p_partition, known.seq, p.tick, p.xid, p.id, p.page_count,
            is_whole and p.page_count < p_limit and p.tick = ahead.to_tick);
        if found then
            return;
        end if;
        moved := postrider.pass_unwanted(known, ahead.to_tick, ahead.span, look, to_xid);
        exit when moved.seq = known.seq or clock_timestamp() > began + passing;
        known := moved;
    end loop;
end;
$$;
