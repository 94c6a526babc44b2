-- Index: dead_letter_pkey.
select json_build_object(
    'id', l.id, 'endpoint_name', l.endpoint_name, 'message_id', l.message_id, 'status', l.status,
    'cause', l.cause, 'retry_count', l.retry_count, 'last_error', l.last_error,
    'failed_at', l.failed_at, 'redriven_at', l.redriven_at,
    'message_created_at', l.message_created_at, 'correlation_id', l.correlation_id,
    'ordering_key', l.ordering_key, 'headers', l.headers, 'metadata', l.metadata,
    'payload', l.payload, 'error_history', l.error_history)
from postrider.dead_letter l
where l.id = $1::bigint;
