-- postrider.executions: what was asked for, and what became of it
--
-- Admin, operator, application, monitor (without parameters, result and error). By id it costs a few looks into
-- indexes.
create or replace view postrider.executions as
select
    e.id, e.action, e.parameters, coalesce(l.status, f.status) as status, a.name as addressed_to,
    e.pool, w.name as worker, e.priority::integer as priority,
    make_interval(secs => e.ttl_ms / 1000.0) as ttl,
    make_interval(secs => e.timeout_ms / 1000.0) as timeout,
    coalesce(l.attempt, f.attempt) as attempt, e.max_retries,
    coalesce(l.retry_reason, f.retry_reason) as retry_reason,
    e.original_execution, f.reason, f.result, f.error, e.created_at,
    coalesce(l.requested_at, f.requested_at) as requested_at,
    coalesce(l.scheduled_at, f.scheduled_at) as scheduled_at,
    coalesce(l.started_at, f.started_at) as started_at, f.ended_at, l.expires_at, l.deadline_at,
    case when l.is_delayed then l.due_at end as retry_at, l.cancel_requested_at,
    e.correlation_id, e.idempotency_key
from postrider.execution e
left join postrider.live_execution l on l.id = e.id
left join postrider.execution_end f on f.execution_id = e.id and f.is_final
left join postrider.worker a on a.id = e.worker_id
left join postrider.worker w on w.id = coalesce(l.worker_id, f.worker_id);
