-- postrider.fetch_messages(consumer, limit, wait, partition, wait_for_holder) → the next messages
--
-- Consumer, application, admin. What the consumer has not acknowledged, in its order. From then on, to the end of
-- the transaction, nobody else gets messages of this consumer, or of this partition of it; acknowledge, in
-- the same transaction, moves the consumer behind what was processed, and without it the same messages
-- come again. With several partitions and none named: any that nobody holds and that has messages. Nothing
-- comes back when there is nothing, or when somebody else holds it, unless the caller waits for either.
-- Raises 22004 (a null name), 22023 (a value out of its range), 25001 (isolation level), 42704 (no such
-- consumer). Uses what consumer_messages uses.
--
-- A tick is readable once the transaction that made it has ended. So dispatchers make them, or tick in a
-- transaction of its own. Where no dispatcher lives, a fetch that finds nothing makes one, for the next
-- fetch.
create or replace function postrider.fetch_messages(
    p_consumer text,
    p_limit integer default 100,
    p_wait interval default null,
    p_partition integer default null,
    p_wait_for_holder boolean default false)
returns table (
    "position" bigint,
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
    longest_wait constant interval := '60 seconds';
    shortest_pause constant double precision := 0.005;
    longest_pause constant double precision := 0.05;
    look constant integer := 10000;
    deadline constant timestamptz := clock_timestamp() + coalesce(p_wait, '0');
    had_id constant boolean := pg_current_xact_id_if_assigned() is not null;
    pause double precision := shortest_pause;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    is_choosing boolean := p_partition is null and reader.partition_count > 1;
    chosen integer := coalesce(p_partition, floor(random() * reader.partition_count)::integer);
    candidate integer;
    locked_id integer;
    held integer[];
    message_count bigint;
begin
    if p_limit is null or p_limit not between 1 and most_messages then
        raise exception 'p_limit must be between 1 and %, got %', most_messages,
            coalesce(p_limit::text, 'null') using errcode = '22023';
    end if;
    if p_wait not between interval '0' and longest_wait then
        raise exception 'p_wait must be between 0 and 60 seconds, got %', p_wait
            using errcode = '22023';
    end if;
    if p_partition not between 0 and reader.partition_count - 1 then
        raise exception 'p_partition must be between 0 and %, got %', reader.partition_count - 1,
            p_partition using errcode = '22023';
    end if;
    if p_wait_for_holder and is_choosing then
        raise exception 'p_wait_for_holder needs p_partition: consumer ''%'' has % partitions',
            p_consumer, reader.partition_count using errcode = '22023';
    end if;
    perform postrider.refuse_copy();
    -- An older snapshot does not see what was acknowledged since.
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception
            'fetch_messages needs a transaction with isolation level READ COMMITTED, this is %',
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;

    loop
        held := '{}';
        for step in 0..case when is_choosing then reader.partition_count - 1 else 0 end loop
            candidate := (chosen + step) % reader.partition_count;
            -- The lock of a partition with nothing in it could not be given back, nor the transaction id that
            -- comes with it.
            continue when not case
                when is_choosing then postrider.is_partition_unread(reader, candidate, look)
                else postrider.is_partition_behind(reader.id, candidate)
            end;
            if p_wait_for_holder then
                perform
                from postrider.consumer_lock l
                where l.consumer_id = reader.id
                and l.partition = candidate
                for update;
            end if;
            continue when not postrider.has_consumer_lock(reader.id, candidate);
            -- It may have been dropped or reset before we had the lock.
            locked_id := reader.id;
            reader := postrider.known_consumer(p_consumer);
            continue when reader.id <> locked_id;
            held := held || candidate;
            return query
            select
                m.id >> 10, m.xid, m.id, m.event_type, m.payload, m.headers, m.metadata,
                m.scheduled_at, m.tick, m.created_at, m.ordering_key, m.correlation_id, m.body,
                m.content_type
            from postrider.read_partition(reader, candidate, p_limit) m;
            get diagnostics message_count = row_count;
            if message_count > 0 then
                return;
            end if;
        end loop;

        if reader.ordering = 'commit'
            and pg_current_xact_id_if_assigned() is null
            and not exists (select from postrider.acting_dispatchers())
            and postrider.append_tick() is not null
            -- With an id of its own it sees no younger transaction, and makes no tick.
            or not had_id
            and pg_current_xact_id_if_assigned() is not null
            and (
                reader.ordering = 'transaction'
                or not exists (select from postrider.acting_dispatchers()))
            or clock_timestamp() >= deadline
        then
            -- What it does not want of those that were not worth reading, either.
            for candidate in 0..case when is_choosing then reader.partition_count - 1 else -1 end loop
                if exists (
                        select
                        from postrider.newest_position(reader.id, candidate) p
                        cross join lateral postrider.next_ticks(p.tick, p.message_id, 1) n
                        where not postrider.is_at_end(p)
                        and (
                            n.tick_count > 0
                            or exists (
                                select from postrider.transaction_messages(p.xid, p.message_id, 1)
                            ))
                    )
                    and postrider.has_consumer_lock(reader.id, candidate)
                then
                    perform postrider.is_partition_filled(reader, candidate, false);
                    held := held || candidate;
                end if;
            end loop;
            perform postrider.note_fetch(reader.id, f.partition)
            from unnest(case when is_choosing then held else array[chosen] end) f (partition);
            return;
        end if;
        perform pg_sleep(
            least(pause, greatest(extract(epoch from deadline - clock_timestamp()), 0.001)));
        pause := least(pause * 2, longest_pause);
    end loop;
end;
$$;
