-- postrider.park_message(consumer, position, attempt_count, error) → the id of the parked message
--
-- Consumer, application, admin. In the transaction of its fetch_messages: keeps a copy of the first message that was
-- fetched and is not acknowledged, which must be the one at this position, in parked_messages, and
-- acknowledges it, so that the consumer goes on behind it. One that was parked before is parked anew, under
-- its old id. Of the error the first 8,192 characters are kept. Logged in event_log. Raises 22004 (a null),
-- 22023 (another position, a count below 1), 42704 (no such consumer), 55000 (nothing is fetched in this
-- transaction). Uses what consumer_messages uses.
create or replace function postrider.park_message(
    p_consumer text, p_position bigint, p_attempt_count integer, p_error text)
returns bigint
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
    most_characters constant integer := 8192;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    first record;
    parked_id bigint;
begin
    if p_position is null then
        raise exception 'p_position must not be null' using errcode = '22004';
    end if;
    if p_attempt_count is null or p_attempt_count < 1 then
        raise exception 'p_attempt_count must be at least 1, got %',
            coalesce(p_attempt_count::text, 'null') using errcode = '22023';
    end if;
    if not exists (select from postrider.fetched_batches(reader)) then
        raise exception
            'Consumer ''%'' has nothing to park: it must be in the transaction of its fetch_messages',
            p_consumer using errcode = '55000';
    end if;
    select f.partition, m.*
    into first
    from postrider.fetched_batches(reader) f
    cross join lateral postrider.newest_position(reader.id, f.partition) p
    cross join lateral (
        select c.*
        from postrider.consumer_messages(
            reader, f.partition, p.tick, p.xid, p.message_id, f.tick,
            greatest(10000, f.message_count)::integer) c
        limit 1
    ) m
    where m.id >> 10 = p_position;
    if not found then
        raise exception
            'p_position must be that of the first message fetched and not acknowledged, got %',
            p_position using errcode = '22023';
    end if;
    -- Raises if the consumer has been moved meanwhile.
    perform postrider.acknowledge(p_consumer, p_position);

    insert into postrider.parked_message as k (
        consumer_id, message_id, xid, tick, partition, attempt_count, last_error, created_at,
        scheduled_at, correlation_id, event_type, ordering_key, headers, metadata, payload, body,
        content_type)
    values (
        reader.id, first.id, first.xid, first.tick, first.partition, p_attempt_count,
        left(p_error, most_characters), first.created_at, first.scheduled_at, first.correlation_id,
        first.event_type, first.ordering_key, first.headers, first.metadata, first.payload, first.body,
        first.content_type)
    on conflict on constraint parked_message_consumer_id_message_id_key do update
    set attempt_count = excluded.attempt_count,
        last_error = excluded.last_error,
        parked_at = excluded.parked_at
    returning k.id into parked_id;
    insert into postrider.event_log (event, details)
    values (
        'consumer.message_parked',
        jsonb_build_object(
            'consumer', p_consumer, 'id', parked_id, 'message_id', first.id, 'position', p_position,
            'partition', first.partition, 'attempt_count', p_attempt_count, 'by', session_user,
            'before', null, 'after', jsonb_build_object('attempt_count', p_attempt_count)));
    return parked_id;
end;
$$;
