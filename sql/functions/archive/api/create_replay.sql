-- postrider.create_replay(endpoint_name, from, to, status, event_type, filter, rate) → the job's id
--
-- Operator, admin. A replay_range that dispatchers do, in steps (advance_replays): at so many messages per second
-- at most, and only while the log has room. `filter` is contained in the payload. Logged in event_log.
-- Raises 22004, 22023, 42704 (no such endpoint or event type), 55000 (disabled). Uses message_created_at.
create or replace function postrider.create_replay(
    p_endpoint_name text,
    p_from_ts timestamptz,
    p_to_ts timestamptz,
    p_status text default null,
    p_event_type text default null,
    p_filter jsonb default null,
    p_rate integer default null)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    first_id bigint;
    last_id bigint;
    replay_id bigint;
begin
    perform postrider.direct_target(p_endpoint_name);
    perform postrider.check_replay(p_from_ts, p_to_ts, p_status);
    perform postrider.check_event_type(p_event_type);
    if jsonb_typeof(p_filter) <> 'object' then
        raise exception 'p_filter must be an object, got %', jsonb_typeof(p_filter)
            using errcode = '22023';
    end if;
    if p_rate not between 1 and 100000 then
        raise exception 'p_rate must be between 1 and 100000, got %', p_rate using errcode = '22023';
    end if;

    -- `+ 0`, or it would be looked for by walking over all ids from the first one on.
    select min(m.id + 0), max(m.id + 0)
    into first_id, last_id
    from postrider.message m
    where m.created_at >= p_from_ts
    and m.created_at < p_to_ts;
    insert into postrider.replay (
        endpoint_id, endpoint_name, from_ts, to_ts, status, event_type, filter, rate, position,
        last_id, position_at, created_by)
    select
        e.id, e.name, p_from_ts, p_to_ts, p_status, p_event_type, p_filter, p_rate,
        coalesce(first_id - 1, 0), coalesce(last_id, 0), p_from_ts, postrider.caller()
    from postrider.endpoints e
    where e.name = p_endpoint_name
    returning id into replay_id;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'replay.created', p_endpoint_name,
        jsonb_build_object(
            'id', replay_id, 'from_ts', p_from_ts, 'to_ts', p_to_ts, 'rate', p_rate,
            'by', session_user, 'before', null, 'after', jsonb_build_object('state', 'running')));
    return replay_id;
end;
$$;
