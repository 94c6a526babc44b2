-- $1: the name of one, or null.
-- Index: none, schedules are few.
select json_build_object(
    'id', s.id, 'name', s.name, 'timing', s.timing, 'time_zone', s.time_zone,
    'endpoint_name', s.endpoint_name, 'event_type', s.event_type, 'missed', s.missed,
    'status', s.status, 'next_at', s.next_at, 'last_at', s.last_at,
    'last_message_id', s.last_message_id, 'fired_count', s.fired_count, 'paused_at', s.paused_at,
    'failed_since', s.failed_since, 'failure_count', s.failure_count,
    'last_error_code', s.last_error_code, 'last_error', s.last_error, 'priority', s.priority,
    'ordering_key', s.ordering_key, 'payload', s.payload, 'headers', s.headers, 'metadata', s.metadata,
    'expires_in', s.expires_in, 'created_at', s.created_at, 'created_by', s.created_by)
from postrider.schedules s
where s.name = $1::text
or $1::text is null
order by s.name;
