-- $1 bigint[]: delivered messages
with finished as (
    delete from classic.queue q
    where q.id = any ($1)
    returning
        q.id, q.endpoint_id, q.priority, q.retry_count, q.created_at, q.scheduled_at, q.expires_at,
        q.correlation_id, q.ordering_key, q.headers, q.metadata, q.payload
)
insert into classic.archive (
    id, endpoint_id, status, priority, retry_count, created_at, scheduled_at, completed_at,
    expires_at, correlation_id, ordering_key, headers, metadata, payload)
select
    f.id, f.endpoint_id, 'completed', f.priority, f.retry_count, f.created_at, f.scheduled_at,
    clock_timestamp(), f.expires_at, f.correlation_id, f.ordering_key, f.headers, f.metadata,
    f.payload
from finished f;
