select json_build_object(
    'endpoint_name', s.endpoint_name, 'status', s.status, 'retry_count', s.retry_count,
    'next_retry_at', s.next_retry_at, 'last_error', s.last_error, 'completed_at', s.completed_at)
from postrider.message_status($1::bigint) s
order by s.endpoint_name;
