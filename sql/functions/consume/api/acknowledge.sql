-- postrider.acknowledge(consumer, position)
--
-- Consumer, application, admin. Everything up to and with the message at this position is processed: the consumer
-- (or the partition that the message is in) goes on behind it when the transaction commits. In the
-- transaction of its fetch_messages, which holds the consumer: in any other it is refused, because
-- somebody else may have read the same since. Raises 22004 (a null), 22023 (a position that was not
-- fetched), 42704 (no such consumer), 55000 (nothing is fetched in this transaction). Uses message_id and
-- what consumer_messages uses.
create or replace function postrider.acknowledge(p_consumer text, p_position bigint)
returns void
language plpgsql
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
declare
    -- As many as read_partition looks at.
    tick_look constant integer := 2000;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    fetched record;
    target record;
    ahead record;
    known postrider.consumer_position;
    acknowledged_count bigint;
    new_seq bigint;
begin
    if p_position is null then
        raise exception 'p_position must not be null' using errcode = '22004';
    end if;
    select f.partition, f.seq, f.tick, f.xid, f.id, f.message_count, f.at, f.is_end
    into fetched
    from postrider.fetched_batches(reader) f
    order by f.id >> 10 = p_position desc, f.partition = (
        select postrider.message_partition(m.ordering_key, m.id, reader.partition_count)
        from postrider.message m
        where m.id between p_position << 10 and (p_position << 10) | 1023
    ) desc
    limit 1;
    if not found then
        raise exception
            'Consumer ''%'' has nothing to acknowledge: it must be in the transaction of its fetch_messages',
            p_consumer using errcode = '55000';
    end if;
    select p.* into known from postrider.newest_position(reader.id, fetched.partition) p;
    -- Nor may the note lead back, or to where nothing is yet: any session can write one.
    if known.seq is distinct from fetched.seq
        or (fetched.tick, fetched.id) <= (known.tick, known.message_id)
        or (fetched.xid, fetched.id) <= (known.xid, known.message_id)
        or fetched.tick > pg_sequence_last_value('postrider.tick_sequence')
        or fetched.xid >= pg_snapshot_xmax(pg_current_snapshot())
        or fetched.message_count not between 0 and 1000000
        or fetched.at not between now() - interval '1 day' and clock_timestamp() + interval '1 day'
        or not postrider.has_consumer_lock(reader.id, fetched.partition)
    then
        raise exception
            'Consumer ''%'' has been moved since its fetch_messages', p_consumer
            using errcode = '55000';
    end if;

    if fetched.id >> 10 = p_position then
        select
            fetched.tick as tick, fetched.xid as xid,
            case when fetched.is_end then 9223372036854775807 else fetched.id end as id
        into target;
        acknowledged_count := fetched.message_count;
    else
        -- Somewhere within the batch.
        select n.span into ahead from postrider.next_ticks(
            known.tick, known.message_id, tick_look, fetched.tick) n;
        select b.tick, b.xid, b.id, b.number
        into target
        from (
            select m.tick, m.xid, m.id, row_number() over () as number
            from (
                select c.tick, c.xid, c.id
                from postrider.consumer_messages(
                    reader, fetched.partition, known.tick, known.xid, known.message_id, fetched.tick,
                    greatest(10000, fetched.message_count)::integer, ahead.span) c
                limit fetched.message_count
            ) m
        ) b
        where b.id >> 10 = p_position;
        if not found then
            raise exception
                'p_position must be that of a message fetched and not acknowledged, got %', p_position
                using errcode = '22023';
        end if;
        acknowledged_count := target.number;
    end if;

    new_seq := postrider.append_position(
        known, target.tick, case when known.xid is not null then target.xid end, target.id,
        acknowledged_count, fetched.at);
    perform set_config(
        format('postrider.fetched_%s_%s', reader.id, fetched.partition),
        case
            when acknowledged_count = fetched.message_count then ''
            else array[
                new_seq::text, fetched.tick::text, fetched.xid::text, fetched.id::text,
                (fetched.message_count - acknowledged_count)::text, fetched.at::text,
                fetched.is_end::text
            ]::text
        end,
        true);
end;
$$;
