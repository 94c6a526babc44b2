-- postrider.check_schedule(schedule, message)
--
-- Internal: create_schedule and alter_schedule, before they write. Raises 22004, 22023 (a value out of its range, a timing that
-- never fires, no such time zone), 42501 (an event type of Postrider itself) and 42704 (no such endpoint or event type).
create or replace function postrider.check_schedule(
    p_schedule postrider.schedule, p_message postrider.schedule_message)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_schedule.timing is null or p_schedule.time_zone is null or p_schedule.missed is null then
        raise exception 'p_timing, p_time_zone and p_missed must not be null' using errcode = '22004';
    end if;
    if p_schedule.missed not in ('skip', 'one', 'all') then
        raise exception 'p_missed must be skip, one or all, got ''%''', left(p_schedule.missed, 100)
            using errcode = '22023';
    end if;
    -- By name: an abbreviation such as CEST stands for one offset, summer and winter.
    if not exists (
        select
        from pg_timezone_names z
        where z.name = p_schedule.time_zone
        and z.name !~ '^(posix/|right/|posixrules$|localtime$)'
    ) then
        raise exception 'p_time_zone must be the name of a time zone, such as Europe/Berlin or UTC, got ''%''',
            left(p_schedule.time_zone, 100) using errcode = '22023';
    end if;
    if postrider.timing_interval(p_schedule.timing) is null
        and postrider.next_cron_firing(p_schedule.timing, p_schedule.time_zone, clock_timestamp())
            is null
    then
        raise exception 'p_timing never fires: no month has such a day, got ''%''',
            left(p_schedule.timing, 100) using errcode = '22023';
    end if;

    if num_nonnulls(p_message.endpoint_name, p_message.event_type) <> 1 then
        raise exception 'One of p_endpoint_name and p_event_type must be given, and the other be null'
            using errcode = '22023';
    end if;
    if p_message.endpoint_name is not null
        and not exists (select from postrider.endpoints e where e.name = p_message.endpoint_name)
    then
        raise exception 'Endpoint ''%'' does not exist', left(p_message.endpoint_name, 200)
            using errcode = '42704';
    end if;
    if p_message.event_type like 'postrider.%' then
        raise exception 'Event types that begin with ''postrider.'' are for what Postrider itself publishes, got ''%''',
            left(p_message.event_type, 200) using errcode = '42501';
    end if;
    if p_message.event_type is not null
        and not exists (select from postrider.event_types t where t.name = p_message.event_type)
    then
        raise exception 'Event type ''%'' does not exist', left(p_message.event_type, 200)
            using errcode = '42704';
    end if;
    perform postrider.check_options(
        octet_length(p_message.payload::text), p_message.priority, null, null, null,
        p_message.ordering_key, p_message.headers, p_message.metadata);
    if p_message.metadata ?| array['schedule', 'fired_for'] then
        raise exception 'p_metadata must not have schedule or fired_for, which each firing sets'
            using errcode = '22023';
    end if;
    if p_message.expires_in < interval '1 second' or p_message.expires_in > interval '366 days' then
        raise exception 'p_expires_in must be from 1 second to 366 days, got %', p_message.expires_in
            using errcode = '22023';
    end if;
end;
$$;
