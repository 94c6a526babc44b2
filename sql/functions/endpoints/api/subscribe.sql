-- postrider.subscribe(event_type, endpoint, filter, options) → the subscription's id
--
-- Admin. From now on the endpoint gets what is published to the event type, or to every event type
-- that matches a pattern: `*` all, `order.*` all that begin with `order.`. With a filter only payloads
-- that contain it (jsonb `@>`). Options: `enabled` (boolean, default true) and `_retry_policy`, the
-- policy of what comes by this subscription. Logged in event_log. Raises 22004 (a null name), 22023 (a pattern, filter or option that is not valid), 42704 (no such
-- event type or endpoint).
create or replace function postrider.subscribe(
    p_event_type text,
    p_endpoint_name text,
    p_filter jsonb default null,
    p_options jsonb default null)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    endpoint postrider.endpoints;
    created_id integer;
    option record;
    nearest text;
begin
    if p_event_type is null then
        raise exception 'Event type must not be null' using errcode = '22004';
    end if;
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if p_event_type <> '*'
        and (length(p_event_type) > 202
            or p_event_type !~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?$')
    then
        raise exception
            'p_event_type must be an event type, or a pattern such as order.* or *, got ''%''',
            left(p_event_type, 202) using errcode = '22023';
    end if;
    if jsonb_typeof(p_filter) <> 'object' then
        raise exception 'p_filter must be an object, got %', jsonb_typeof(p_filter)
            using errcode = '22023';
    end if;
    if jsonb_typeof(p_options) <> 'object' then
        raise exception 'p_options must be an object, got %', jsonb_typeof(p_options)
            using errcode = '22023';
    end if;
    for option in
        select o.key, jsonb_typeof(o.value) as type
        from jsonb_each(coalesce(p_options, '{}')) o
    loop
        if option.key not in ('enabled', '_retry_policy') then
            select o.name
            into nearest
            from (values ('enabled'), ('_retry_policy')) o (name)
            order by postrider.edit_distance(option.key, o.name), o.name collate "C"
            limit 1;
            raise exception 'p_options.% is not a known key (did you mean %?)',
                left(option.key, 64), nearest using errcode = '22023';
        end if;
        if option.key = 'enabled' and option.type <> 'boolean' then
            raise exception 'p_options.enabled must be true or false, got %', option.type
                using errcode = '22023';
        end if;
    end loop;

    -- The locks keep both from being dropped until this is committed.
    if right(p_event_type, 1) <> '*' then
        perform from postrider.event_types t where t.name = p_event_type for key share;
        if not found then
            raise exception 'Event type ''%'' does not exist', p_event_type using errcode = '42704';
        end if;
    end if;
    select e.*
    into endpoint
    from postrider.endpoints e
    where e.name = p_endpoint_name
    for no key update;
    if endpoint.id is null then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;

    insert into postrider.subscriptions (
        endpoint_id, event_type, filter, retry_policy, enabled, is_endpoint_enabled)
    values (
        endpoint.id, p_event_type, p_filter, p_options -> '_retry_policy',
        coalesce((p_options ->> 'enabled')::boolean, true), endpoint.enabled)
    returning id into created_id;
    -- Dispatchers learn of the new target with the endpoint's next version.
    update postrider.endpoints e set version = e.version + 1 where e.id = endpoint.id;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'subscription.created', p_endpoint_name,
        jsonb_build_object(
            'id', created_id, 'event_type', p_event_type, 'by', session_user, 'before', null,
            'after', jsonb_build_object(
                'filter', p_filter, 'retry_policy', p_options -> '_retry_policy',
                'enabled', coalesce((p_options ->> 'enabled')::boolean, true))));
    return created_id;
end;
$$;
