-- postrider.begin_batch(consumer, partition, batch_size) → how many messages to ask for, and what failed before
--
-- Consumer, application, admin. Before fetch_messages, in a transaction of its own: writes down that a batch of this
-- partition is begun, so that it counts as failed when nothing of it is acknowledged, whatever became of
-- the process. Makes a tick if there is one to be made. The answer is 1 while messages are suspect, that is
-- in a batch that has failed and not acknowledged since, else what was asked for; and how often the message
-- that comes next has failed by itself. Nothing is written down when there is nothing to be read or somebody
-- else reads the partition. Raises 22004 (a null name), 22023 (a value out of its range), 25001 (in a
-- transaction that has written or locked something, or is not READ COMMITTED), 25006 (on a standby), 42704
-- (no such consumer), 55000 (the log is from elsewhere, and nobody has adopted it). Uses consumer_attempt_newest and what
-- consumer_messages uses.
--
-- A batch counts only if it is certain to get something: this passes what the consumer does not want.
create or replace function postrider.begin_batch(
    p_consumer text, p_partition integer, p_batch_size integer)
returns table (batch_size integer, failure_count integer)
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
#variable_conflict use_column
declare
    most_messages constant integer := 10000;
    tick_look constant integer := 2000;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    has_ticked boolean;
    is_behind boolean;
    has_lock boolean;
    is_filled boolean := false;
    known postrider.consumer_position;
    last_attempt postrider.consumer_attempt;
    available integer;
    ahead record;
    failures integer := 0;
    suspects bigint := 0;
    allowed integer;
begin
    if p_partition is null or p_partition not between 0 and reader.partition_count - 1 then
        raise exception 'p_partition must be between 0 and %, got %', reader.partition_count - 1,
            coalesce(p_partition::text, 'null') using errcode = '22023';
    end if;
    if p_batch_size is null or p_batch_size not between 1 and most_messages then
        raise exception 'p_batch_size must be between 1 and %, got %', most_messages,
            coalesce(p_batch_size::text, 'null') using errcode = '22023';
    end if;
    perform postrider.check_tick_allowed('begin_batch');
    perform postrider.refuse_copy();

    has_ticked := postrider.append_tick() is not null;
    -- Where nothing is new nothing is under way, either.
    is_behind := postrider.is_partition_behind(reader.id, p_partition);
    has_lock := not is_behind or postrider.has_consumer_lock(reader.id, p_partition);
    -- It may have been dropped or reset meanwhile.
    reader := postrider.known_consumer(p_consumer);
    if is_behind and has_lock then
        is_filled := postrider.is_partition_filled(reader, p_partition, not has_ticked);
    end if;
    select p.* into known from postrider.newest_position(reader.id, p_partition) p;
    select a.* into last_attempt from postrider.newest_attempt(reader.id, p_partition) a;
    if last_attempt.generation = known.generation and last_attempt.message_count = known.message_count
    then
        failures := last_attempt.failure_count;
        suspects := last_attempt.suspect_count;
        if is_filled then
            -- It came to nothing. What it may have got: no more than there is now.
            select n.to_tick, n.span
            into ahead
            from postrider.next_ticks(known.tick, known.message_id, tick_look) n;
            select count(*)
            into available
            from (
                select
                from postrider.consumer_messages(
                    reader, p_partition, known.tick, known.xid, known.message_id, ahead.to_tick,
                    most_messages, ahead.span)
                limit last_attempt.batch_size
            ) m;
            failures := failures + case when available = 1 then 1 else 0 end;
            suspects := greatest(suspects, known.message_count + available);
        elsif not has_lock then
            -- It is under way.
            suspects := greatest(suspects, known.message_count + last_attempt.batch_size);
        end if;
    end if;
    allowed := case
        when known.message_count < greatest(known.suspect_count, suspects) then 1
        else p_batch_size
    end;
    if is_filled then
        insert into postrider.consumer_attempt (
            consumer_id, partition, generation, message_count, batch_size, failure_count,
            suspect_count)
        values (
            reader.id, p_partition, known.generation, known.message_count,
            allowed, failures, suspects);
        -- Whoever holds the partition's lock is the only one to see that it is not the newest any more.
        delete from postrider.consumer_attempt a
        where a.consumer_id = reader.id
        and a.partition = p_partition
        and a.seq = last_attempt.seq;
    end if;
    return query select allowed, failures;
end;
$$;
