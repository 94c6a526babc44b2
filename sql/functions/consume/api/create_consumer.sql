-- postrider.create_consumer(name, event_types, filter, start, ordering, partitions) → its id
--
-- Admin. A named reader of the log. Reads messages with one of these event types (names, or patterns such
-- as order.* and *; null: everything in the log, what was sent to endpoints, too) and whose payload
-- contains the filter. Starts at the beginning of the log, now, at a time (what was created from then on)
-- or at a message. Logged in event_log. Raises 22004 (a null), 22023 (a value that is not valid), 42704 (no
-- such event type or message), 42710 (the name is taken).
create or replace function postrider.create_consumer(
    p_name text,
    p_event_types text[] default null,
    p_filter jsonb default null,
    p_start text default 'beginning',
    p_ordering text default 'commit',
    p_partitions integer default 1)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    most_event_types constant integer := 100;
    wanted text;
    start record;
    created_id integer;
begin
    if p_name is null then
        raise exception 'Consumer name must not be null' using errcode = '22004';
    end if;
    if p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,49}$' then
        raise exception
            'Consumer name must be 1 to 50 letters, digits, _ . : or -, the first a letter or digit, got ''%''',
            left(p_name, 200) using errcode = '22023';
    end if;
    if cardinality(p_event_types) not between 1 and most_event_types then
        raise exception 'p_event_types must hold 1 to % event types, or be null, got %',
            most_event_types, cardinality(p_event_types) using errcode = '22023';
    end if;
    foreach wanted in array coalesce(p_event_types, '{}') loop
        if wanted is null or length(wanted) > 200
            or wanted !~ '^([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?|\*)$'
        then
            raise exception
                'p_event_types must hold names of event types or patterns such as order.* or *, got %',
                coalesce(quote_literal(left(wanted, 200)), 'null') using errcode = '22023';
        end if;
        if right(wanted, 1) <> '*' then
            perform postrider.check_event_type(wanted);
        end if;
    end loop;
    if jsonb_typeof(p_filter) <> 'object' then
        raise exception 'p_filter must be an object, got %', jsonb_typeof(p_filter)
            using errcode = '22023';
    end if;
    if p_ordering is null or p_ordering not in ('commit', 'transaction') then
        raise exception 'p_ordering must be commit or transaction, got %',
            coalesce(quote_literal(left(p_ordering, 100)), 'null') using errcode = '22023';
    end if;
    if p_partitions is null or p_partitions not between 1 and 64 then
        raise exception 'p_partitions must be between 1 and 64, got %',
            coalesce(p_partitions::text, 'null') using errcode = '22023';
    end if;
    select s.* into start from postrider.consumer_start(p_ordering, p_start) s;

    insert into postrider.consumer (
        name, ordering, event_types, type_patterns, filter, partition_count, start_snapshot, start_id,
        start_at)
    values (
        p_name, p_ordering, p_event_types, (
            select array_agg(replace(replace(replace(t.name, '\', '\\'), '_', '\_'), '*', '%'))
            from unnest(p_event_types) t (name)
        ),
        p_filter, p_partitions, start.start_snapshot, start.start_id, start.start_at)
    on conflict on constraint consumer_name_key do nothing
    returning id into created_id;
    if created_id is null then
        raise exception 'Consumer ''%'' already exists', p_name using errcode = '42710';
    end if;
    insert into postrider.consumer_position (
        consumer_id, partition, tick, xid, message_id, message_count)
    select created_id, k, start.tick, start.xid, start.message_id, 0
    from generate_series(0, p_partitions - 1) k;
    insert into postrider.consumer_lock (consumer_id, partition)
    select created_id, k
    from generate_series(-1, p_partitions - 1) k;
    insert into postrider.event_log (event, details)
    values (
        'consumer.created',
        jsonb_build_object(
            'consumer', p_name, 'start', p_start, 'ordering', p_ordering, 'partitions', p_partitions,
            'by', session_user, 'before', null,
            'after', jsonb_build_object('event_types', p_event_types, 'filter', p_filter)));
    -- Dispatchers make ticks for consumers.
    perform postrider.ring('postrider', 'consumers');
    return created_id;
end;
$$;
