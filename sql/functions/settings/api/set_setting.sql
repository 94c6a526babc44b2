-- postrider.set_setting(name, value) → the value as it is stored
--
-- Admin. Changes a setting; dispatchers follow without a restart. Logged in event_log. Raises 22004
-- (a null), 42704 (no such setting), 22023 (a value out of its range, with the range). Warns of a
-- worker_queue_ttl_ms below two minutes.
create or replace function postrider.set_setting(name text, value text)
returns text
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.setting;
    checked text;
    gate bigint;
    recommended_ttl_ms constant bigint := 120000;
begin
    if set_setting.name is null or set_setting.value is null then
        raise exception 'Setting name and value must not be null' using errcode = '22004';
    end if;
    -- Each of these is checked against the other. In one order, so that nobody waits in a circle.
    if set_setting.name in ('worker_heartbeat_interval', 'worker_stale_after') then
        perform
        from postrider.setting s
        where s.name in ('worker_heartbeat_interval', 'worker_stale_after')
        order by s.name
        for update;
    end if;
    select s.* into known from postrider.setting s where s.name = set_setting.name for update;
    if known.name is null then
        raise exception 'Setting ''%'' does not exist', set_setting.name using errcode = '42704';
    end if;
    checked := postrider.check_setting(known, set_setting.value);
    if known.name = 'worker_queue_ttl_ms' and checked::bigint < recommended_ttl_ms then
        raise warning 'worker_queue_ttl_ms is shorter than recommended: % ms, and % ms or more are', checked,
            recommended_ttl_ms
            using hint = 'A worker that is busy or starts anew for as long loses what waits for it.';
    end if;
    if checked = known.value then
        return checked;
    end if;

    update postrider.setting s
    set value = checked
    where s.name = known.name;
    insert into postrider.event_log (event, details)
    values (
        'setting.changed',
        jsonb_build_object(
            'name', known.name, 'from', known.value, 'to', checked, 'by', session_user,
            'before', jsonb_build_object('value', known.value),
            'after', jsonb_build_object('value', checked)));
    if known.name = 'max_queue_size' then
        -- Down at once, and up when a send finds the log full: until this is committed others see
        -- the old limit, and a gate that a rollback left too low is set right by who comes to it.
        gate := pg_sequence_last_value('postrider.message_gate');
        if postrider.update_gate() > gate then
            perform setval('postrider.message_gate', gate);
        end if;
    end if;
    perform postrider.ring('postrider', 'settings');
    return checked;
end;
$$;
