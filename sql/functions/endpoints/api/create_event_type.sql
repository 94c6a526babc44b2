-- postrider.create_event_type(name, description, schema, metadata) → the event type's id
--
-- Admin. Names are parts of letters, digits, `_` or `-`, with dots between them, 200 characters in
-- all. `schema` describes the payload for people and tools; nothing is checked against it. `metadata`
-- may have a `_retry_policy`, which the trigger checks. Logged in event_log. Raises 22004 (a null name), 22023 (a value that is not valid), 42710 (the name is taken).
create or replace function postrider.create_event_type(
    p_name text,
    p_description text default null,
    p_schema jsonb default null,
    p_metadata jsonb default null)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    created_id integer;
begin
    if p_name is null then
        raise exception 'Event type must not be null' using errcode = '22004';
    end if;
    if length(p_name) > 200 or p_name !~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$' then
        raise exception
            'Event type must be 1 to 200 letters, digits, _ or - in parts divided by dots, got ''%''',
            left(p_name, 200) using errcode = '22023';
    end if;
    if jsonb_typeof(p_schema) not in ('object', 'boolean') then
        raise exception 'p_schema must be a JSON Schema (an object or a boolean), got %',
            jsonb_typeof(p_schema) using errcode = '22023';
    end if;
    if jsonb_typeof(p_metadata) <> 'object' then
        raise exception 'p_metadata must be an object, got %', jsonb_typeof(p_metadata)
            using errcode = '22023';
    end if;

    insert into postrider.event_types (name, patterns, description, schema, metadata)
    select
        p_name,
        array[p_name, '*'] || array(
            select array_to_string(n.parts[1:i], '.') || '.*'
            from (select string_to_array(p_name, '.')) n (parts)
            cross join lateral generate_series(1, cardinality(n.parts) - 1) i
        ),
        p_description, p_schema, p_metadata
    on conflict on constraint event_types_name_key do nothing
    returning id into created_id;
    if created_id is null then
        raise exception 'Event type ''%'' already exists', p_name using errcode = '42710';
    end if;
    insert into postrider.event_log (event, details)
    values (
        'event_type.created',
        jsonb_build_object(
            'event_type', p_name, 'id', created_id, 'by', session_user, 'before', null,
            'after', jsonb_build_object(
                'description', p_description, 'schema', p_schema, 'metadata', p_metadata)));
    return created_id;
end;
$$;
