-- $1: an endpoint's name or null, $2: also those that were redriven, $3: how many.
-- Walks the table from its newest row. Index: dead_letter_pkey.
select json_build_object(
    'id', l.id, 'endpoint_name', l.endpoint_name, 'event_type', l.event_type,
    'message_id', l.message_id, 'priority', l.priority, 'status', l.status, 'cause', l.cause,
    'retry_count', l.retry_count, 'last_error', l.last_error, 'failed_at', l.failed_at,
    'redriven_at', l.redriven_at, 'redriven_by', l.redriven_by, 'message_created_at', l.message_created_at,
    'correlation_id', l.correlation_id)
from postrider.dead_letter l
where (l.endpoint_name = $1::text or $1::text is null)
and (l.status = 'failed' or $2::boolean)
order by l.id desc
limit $3::bigint;
