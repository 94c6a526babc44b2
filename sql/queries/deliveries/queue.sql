-- $1: an endpoint's name or null, $2: how many. The oldest first.
-- Index: none, the view has its own.
select json_build_object(
    'id', q.id, 'endpoint_name', q.endpoint_name, 'event_type', q.event_type, 'status', q.status,
    'priority', q.priority, 'ordering_key', q.ordering_key, 'scheduled_at', q.scheduled_at,
    'next_retry_at', q.next_retry_at, 'retry_count', q.retry_count, 'last_error', q.last_error,
    'created_at', q.created_at)
from postrider.queue q
where q.endpoint_name = $1::text
or $1::text is null
order by q.id
limit $2::bigint;
