-- The newest first. $1: behind this one, or null; $2: how many.
-- Index: execution_pkey. The view has its own.
select
    json_build_object(
        'id', x.id, 'action', x.action, 'status', x.status, 'addressed_to', x.addressed_to, 'pool', x.pool,
        'worker', x.worker, 'priority', x.priority, 'ttl', x.ttl, 'timeout', x.timeout, 'attempt', x.attempt,
        'max_retries', x.max_retries, 'retry_reason', x.retry_reason,
        'original_execution', x.original_execution, 'reason', x.reason, 'created_at', x.created_at,
        'requested_at', x.requested_at, 'scheduled_at', x.scheduled_at, 'started_at', x.started_at,
        'ended_at', x.ended_at, 'expires_at', x.expires_at, 'deadline_at', x.deadline_at,
        'retry_at', x.retry_at, 'cancel_requested_at', x.cancel_requested_at,
        'correlation_id', x.correlation_id, 'idempotency_key', x.idempotency_key) as item,
    x.id::text as key
from (
    select e.id
    from postrider.execution e
    where e.id < coalesce($1::text::bigint, 9223372036854775807)
    order by e.id desc
    limit $2::bigint
) e
cross join lateral (
    select
        v.id, v.action, v.status, v.addressed_to, v.pool, v.worker, v.priority, v.ttl, v.timeout, v.attempt,
        v.max_retries, v.retry_reason, v.original_execution, v.reason, v.created_at, v.requested_at,
        v.scheduled_at, v.started_at, v.ended_at, v.expires_at, v.deadline_at, v.retry_at,
        v.cancel_requested_at, v.correlation_id, v.idempotency_key
    from postrider.executions v
    where v.id = e.id
    limit 1
) x
order by x.id desc;
