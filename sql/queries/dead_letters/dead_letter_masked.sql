-- dead_letter.sql for who reads neither payload nor headers, such as the monitor role.
-- Index: dead_letter_pkey.
select jsonb_build_object(
    'id', l.id, 'endpoint_name', l.endpoint_name, 'event_type', l.event_type,
    'message_id', l.message_id, 'priority', l.priority, 'status', l.status, 'cause', l.cause,
    'retry_count', l.retry_count, 'last_error', l.last_error, 'failed_at', l.failed_at,
    'redriven_at', l.redriven_at, 'redriven_by', l.redriven_by, 'message_created_at', l.message_created_at,
    'correlation_id', l.correlation_id)
from postrider.dead_letter l
where l.id = $1::bigint;
