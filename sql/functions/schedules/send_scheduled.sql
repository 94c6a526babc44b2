-- postrider.send_scheduled(schedule_name, message, fired_for, at) → the message's id
--
-- Internal: one message of a schedule, as anybody would send it, with the limits of now. Its metadata say which schedule it is
-- of, and for which time.
create or replace function postrider.send_scheduled(
    p_name text, p_message postrider.schedule_message, p_fired_for timestamptz, p_at timestamptz)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    metadata constant jsonb := coalesce(p_message.metadata, '{}') || jsonb_build_object(
        'schedule', p_name,
        'fired_for', to_char(p_fired_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
begin
    if p_message.event_type is null then
        return postrider.send_with_options(
            p_message.endpoint_name, p_message.payload, p_message.priority,
            p_expires_at => p_at + p_message.expires_in, p_ordering_key => p_message.ordering_key,
            p_headers => p_message.headers, p_metadata => metadata);
    end if;
    return postrider.publish(
        p_message.event_type, p_message.payload, p_message.priority,
        p_expires_at => p_at + p_message.expires_in, p_ordering_key => p_message.ordering_key,
        p_headers => p_message.headers, p_metadata => metadata);
end;
$$;
