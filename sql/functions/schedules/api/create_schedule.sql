-- postrider.create_schedule(name, timing, time zone, what, options…) → the schedule's id
--
-- Admin. Sends a message again and again: to an endpoint, or to all who subscribe to an event type. `timing` is a cron
-- expression, read in the time zone, or `every` and an interval, counted from now. Each firing sends one message, at most
-- once, in a transaction of a dispatcher in which the next one is set. Of firings that nobody made in time, `missed` says what
-- becomes: one message for all of them, none, or one for each. The other options are those of send_with_options, and
-- `expires_in` after each firing. Logged in event_log. Raises 22004, 22023 (a value that is not valid), 42501 (an event type
-- of Postrider itself), 42704 (no such endpoint or event type), 42710 (the name is taken), 55000 (there are 1,000 schedules).
create or replace function postrider.create_schedule(
    p_name text,
    p_timing text,
    p_time_zone text default 'UTC',
    p_endpoint_name text default null,
    p_event_type text default null,
    p_payload jsonb default '{}',
    p_missed text default 'one',
    p_priority integer default 0,
    p_ordering_key text default null,
    p_headers jsonb default null,
    p_metadata jsonb default null,
    p_expires_in interval default null)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    most_schedules constant integer := 1000;
    at constant timestamptz := clock_timestamp();
    made postrider.schedule;
    message postrider.schedule_message;
begin
    if p_name is null then
        raise exception 'Schedule name must not be null' using errcode = '22004';
    end if;
    if p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' then
        raise exception
            'Schedule name must be 1 to 100 letters, digits, _ . : or -, the first a letter or digit, got ''%''',
            left(p_name, 200) using errcode = '22023';
    end if;
    made.timing := p_timing;
    made.time_zone := p_time_zone;
    made.missed := p_missed;
    message.endpoint_name := p_endpoint_name;
    message.event_type := p_event_type;
    message.payload := p_payload;
    message.priority := p_priority;
    message.ordering_key := p_ordering_key;
    message.headers := p_headers;
    message.metadata := p_metadata;
    message.expires_in := p_expires_in;
    perform postrider.check_schedule(made, message);
    made.every := postrider.timing_interval(p_timing);
    -- Whole seconds, for whoever reads the next times.
    made.anchor := case when made.every is not null then date_trunc('second', at) end;
    if (select count(*) from postrider.schedule) >= most_schedules then
        raise exception 'There are % schedules, which is the limit', most_schedules
            using errcode = '55000', hint = 'Drop some, or let one publish an event to several endpoints.';
    end if;

    insert into postrider.schedule (name, timing, every, anchor, time_zone, missed, next_at, created_by)
    values (
        p_name, p_timing, made.every, made.anchor, p_time_zone, p_missed,
        postrider.next_firing(p_timing, made.every, made.anchor, p_time_zone, at), postrider.caller())
    on conflict on constraint schedule_name_key do nothing
    returning id into made.id;
    if made.id is null then
        raise exception 'Schedule ''%'' already exists', p_name using errcode = '42710';
    end if;
    insert into postrider.schedule_message (
        schedule_id, endpoint_name, event_type, payload, priority, ordering_key, headers, metadata,
        expires_in)
    values (
        made.id, p_endpoint_name, p_event_type, p_payload, p_priority, p_ordering_key, p_headers,
        p_metadata, p_expires_in);
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'schedule.created', p_endpoint_name,
        jsonb_build_object(
            'schedule', p_name, 'id', made.id, 'by', session_user, 'before', null,
            'after', postrider.describe_schedule(made, message)));
    return made.id;
end;
$$;
