-- postrider.publish_batch(events) → the messages' ids, in the order of the events
--
-- Producer, application, admin. `events` is an array of objects with `event_type`, `payload`, and any option of
-- publish without its `p_`. All or nothing. Raises what publish raises, and 22023 for anything else
-- in the array, with the place of the event (from 0).
create or replace function postrider.publish_batch(p_events jsonb)
returns bigint[]
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    fields constant text[] := array[
        'event_type', 'payload', 'priority', 'scheduled_at', 'idempotency_key', 'correlation_id',
        'expires_at', 'ordering_key', 'headers', 'metadata'];
    given record;
    field record;
    nearest text;
    priority integer;
    scheduled_at timestamptz;
    expires_at timestamptz;
    correlation_id uuid;
    message_ids bigint[] := '{}';
    place bigint;
    state text;
    message text;
    hint text;
begin
    if p_events is null then
        raise exception 'Events must not be null' using errcode = '22004';
    end if;
    if jsonb_typeof(p_events) <> 'array' then
        raise exception 'p_events must be an array of objects, got %', jsonb_typeof(p_events)
            using errcode = '22023';
    end if;
    begin
        for given in
            select e.event, e.position - 1 as place
            from jsonb_array_elements(p_events) with ordinality e (event, position)
            order by e.position
        loop
            place := given.place;
            if jsonb_typeof(given.event) <> 'object' then
                raise exception 'p_events[%] must be an object, got %',
                    given.place, jsonb_typeof(given.event) using errcode = '22023';
            end if;
            for field in select f.key, jsonb_typeof(f.value) as type from jsonb_each(given.event) f loop
                if field.key <> all (fields) then
                    select f.name
                    into nearest
                    from unnest(fields) f (name)
                    order by postrider.edit_distance(field.key, f.name), f.name collate "C"
                    limit 1;
                    raise exception 'p_events[%].% is not a known key (did you mean %?)',
                        given.place, left(field.key, 64), nearest using errcode = '22023';
                end if;
                if field.key = 'priority' and field.type not in ('number', 'null')
                    or field.key not in ('payload', 'priority', 'headers', 'metadata')
                    and field.type not in ('string', 'null')
                then
                    raise exception 'p_events[%].% must be %, got %',
                        given.place, field.key,
                        case field.key when 'priority' then 'a number' else 'a text' end,
                        field.type using errcode = '22023';
                end if;
            end loop;
            priority := coalesce((given.event ->> 'priority')::integer, 0);
            scheduled_at := (given.event ->> 'scheduled_at')::timestamptz;
            expires_at := (given.event ->> 'expires_at')::timestamptz;
            correlation_id := (given.event ->> 'correlation_id')::uuid;
            message_ids := message_ids || postrider.publish(
                given.event ->> 'event_type', given.event -> 'payload', priority, scheduled_at,
                given.event ->> 'idempotency_key', correlation_id, expires_at,
                given.event ->> 'ordering_key', nullif(given.event -> 'headers', 'null'),
                nullif(given.event -> 'metadata', 'null'));
        end loop;
    exception
        -- Whatever is wrong with an event, the error says with which one.
        when others then
            get stacked diagnostics
                state = returned_sqlstate, message = message_text, hint = pg_exception_hint;
            if left(state, 2) = '22' and state <> '22004' then
                state := '22023';
            end if;
            if left(message, 9) <> 'p_events[' then
                message := format('p_events[%s]: %s', place, message);
            end if;
            if hint = '' then
                raise exception using errcode = state, message = message;
            end if;
            raise exception using errcode = state, message = message, hint = hint;
    end;
    return message_ids;
end;
$$;
