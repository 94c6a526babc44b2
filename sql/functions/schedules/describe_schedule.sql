-- postrider.describe_schedule(schedule, message) → what event_log says of it: nothing of what is sent but its length
--
-- Internal.
create or replace function postrider.describe_schedule(
    p_schedule postrider.schedule, p_message postrider.schedule_message)
returns jsonb
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select jsonb_build_object(
        'timing', p_schedule.timing, 'time_zone', p_schedule.time_zone, 'missed', p_schedule.missed,
        'endpoint_name', p_message.endpoint_name, 'event_type', p_message.event_type,
        'payload_bytes', octet_length(p_message.payload::text), 'priority', p_message.priority,
        'ordering_key', p_message.ordering_key, 'expires_in', p_message.expires_in,
        'has_headers', p_message.headers is not null, 'has_metadata', p_message.metadata is not null);
$$;
