-- postrider.alter_schedule(name, changes) → whether that changed anything
--
-- Admin. `changes` has what is to be another: `timing`, `time_zone`, `missed`, `endpoint_name`, `event_type`, `payload`,
-- `priority`, `ordering_key`, `headers`, `metadata`, `expires_in`; null takes one away. Of endpoint and event type the one that
-- is given replaces the other. With another timing or time zone the next firing is one by these, later than now, and
-- what is due by the former ones is not sent; with anything else what is due stays due. It is tried anew. Logged
-- in event_log. Raises 22004, 22023, 42704.
create or replace function postrider.alter_schedule(p_name text, p_changes jsonb)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    keys constant text[] := '{timing,time_zone,missed,endpoint_name,event_type,payload,priority,ordering_key,headers,metadata,expires_in}';
    at constant timestamptz := clock_timestamp();
    former postrider.schedule;
    former_message postrider.schedule_message;
    changed postrider.schedule;
    message postrider.schedule_message;
    unknown text;
begin
    if p_changes is null then
        raise exception 'p_changes must not be null' using errcode = '22004';
    end if;
    if jsonb_typeof(p_changes) <> 'object' then
        raise exception 'p_changes must be an object, got %', jsonb_typeof(p_changes) using errcode = '22023';
    end if;
    select k.key into unknown from jsonb_object_keys(p_changes) k (key) where k.key <> all (keys) limit 1;
    if unknown is not null then
        raise exception 'p_changes.% is not a known key (did you mean %?)', left(unknown, 64), (
            select k.key
            from unnest(keys) k (key)
            order by postrider.edit_distance(unknown, k.key), k.key collate "C"
            limit 1
        ) using errcode = '22023';
    end if;
    former := postrider.known_schedule(p_name);
    select m.* into former_message from postrider.schedule_message m where m.schedule_id = former.id;
    begin
        changed := jsonb_populate_record(former, p_changes);
        message := jsonb_populate_record(former_message, p_changes);
    exception
        when data_exception then
            raise exception 'p_changes: %', sqlerrm using errcode = '22023';
    end;
    message.headers := nullif(message.headers, 'null');
    message.metadata := nullif(message.metadata, 'null');
    if p_changes ->> 'endpoint_name' is not null and not p_changes ? 'event_type' then
        message.event_type := null;
    elsif p_changes ->> 'event_type' is not null and not p_changes ? 'endpoint_name' then
        message.endpoint_name := null;
    end if;
    perform postrider.check_schedule(changed, message);
    if (changed, message) is not distinct from (former, former_message) then
        return false;
    end if;

    if (changed.timing, changed.time_zone) is distinct from (former.timing, former.time_zone) then
        changed.every := postrider.timing_interval(changed.timing);
        changed.anchor := case when changed.every is not null then date_trunc('second', at) end;
        changed.next_at := coalesce(
            postrider.next_firing(
                changed.timing, changed.every, changed.anchor, changed.time_zone, at),
            'infinity');
        -- By this a clock that is set back is known (fire_schedules).
        changed.tried_at := at;
    end if;
    update postrider.schedule s
    set timing = changed.timing,
        every = changed.every,
        anchor = changed.anchor,
        time_zone = changed.time_zone,
        missed = changed.missed,
        next_at = changed.next_at,
        tried_at = changed.tried_at,
        retry_at = null
    where s.id = former.id;
    update postrider.schedule_message m
    set endpoint_name = message.endpoint_name,
        event_type = message.event_type,
        payload = message.payload,
        priority = message.priority,
        ordering_key = message.ordering_key,
        headers = message.headers,
        metadata = message.metadata,
        expires_in = message.expires_in
    where m.schedule_id = former.id;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'schedule.altered', message.endpoint_name,
        jsonb_build_object(
            'schedule', p_name, 'by', session_user,
            'changed', array(select k.key from jsonb_object_keys(p_changes) k (key) order by 1))
        || postrider.changes_between(
            postrider.describe_schedule(former, former_message),
            postrider.describe_schedule(changed, message)));
    return true;
end;
$$;
