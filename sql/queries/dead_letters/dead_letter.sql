-- With the payload, or with the length and type of the bytes that were sent instead.
-- Index: dead_letter_pkey.
select jsonb_build_object(
    'id', l.id, 'endpoint_name', l.endpoint_name, 'event_type', l.event_type,
    'message_id', l.message_id, 'priority', l.priority, 'status', l.status, 'cause', l.cause,
    'retry_count', l.retry_count, 'last_error', l.last_error, 'failed_at', l.failed_at,
    'redriven_at', l.redriven_at, 'redriven_by', l.redriven_by, 'message_created_at', l.message_created_at,
    'correlation_id', l.correlation_id, 'ordering_key', l.ordering_key, 'headers', l.headers,
    'metadata', l.metadata, 'error_history', l.error_history)
    || case
        when l.body is null then jsonb_build_object('payload', l.payload)
        else jsonb_build_object('body_bytes', octet_length(l.body), 'content_type', l.content_type)
    end
from postrider.dead_letter l
where l.id = $1::bigint;
