-- $1: its id.
-- Index: dead_letter_pkey.
select
    json_build_object(
        'id', l.id, 'endpoint_name', l.endpoint_name, 'event_type', l.event_type, 'message_id', l.message_id,
        'priority', l.priority, 'status', l.status, 'cause', l.cause, 'retry_count', l.retry_count,
        'last_error', l.last_error, 'failed_at', l.failed_at, 'redriven_at', l.redriven_at,
        'redriven_by', l.redriven_by, 'message_created_at', l.message_created_at,
        'correlation_id', l.correlation_id, 'ordering_key', l.ordering_key, 'headers', l.headers,
        'metadata', l.metadata, 'payload', l.payload, 'body', translate(encode(l.body, 'base64'), E'\n', ''),
        'content_type', l.content_type, 'error_history', l.error_history) as item
from postrider.dead_letter l
where l.id = $1::bigint;
