-- The newest first. $1: an endpoint's name or null.
-- $2: behind this one, or null; $3: how many.
-- Index: dead_letter_pkey, dead_letter_endpoint_name.
select
    json_build_object(
        'id', l.id, 'endpoint_name', l.endpoint_name, 'event_type', l.event_type, 'message_id', l.message_id,
        'priority', l.priority, 'status', l.status, 'cause', l.cause, 'retry_count', l.retry_count,
        'last_error', l.last_error, 'failed_at', l.failed_at, 'redriven_at', l.redriven_at,
        'redriven_by', l.redriven_by, 'message_created_at', l.message_created_at,
        'correlation_id', l.correlation_id) as item,
    l.id::text as key
from postrider.dead_letter l
where l.id < coalesce($2::text::bigint, 9223372036854775807)
and (l.endpoint_name = $1::text or $1::text is null)
order by l.id desc
limit $3::bigint;
