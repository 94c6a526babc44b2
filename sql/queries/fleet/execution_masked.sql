-- execution.sql for who reads neither parameters nor what workers said, such as the monitor role.
-- Index: execution_end_final, execution_end_earlier, execution_dead_letter_execution. The view has its own.
select json_build_object(
    'id', x.id, 'action', x.action, 'status', x.status, 'addressed_to', x.addressed_to,
    'pool', x.pool, 'worker', x.worker, 'priority', x.priority, 'ttl', x.ttl, 'timeout', x.timeout,
    'attempt', x.attempt, 'max_retries', x.max_retries, 'retry_reason', x.retry_reason,
    'original_execution', x.original_execution, 'reason', x.reason, 'created_at', x.created_at,
    'requested_at', x.requested_at, 'scheduled_at', x.scheduled_at, 'started_at', x.started_at,
    'ended_at', x.ended_at, 'expires_at', x.expires_at, 'deadline_at', x.deadline_at,
    'retry_at', x.retry_at, 'cancel_requested_at', x.cancel_requested_at,
    'correlation_id', x.correlation_id, 'idempotency_key', x.idempotency_key,
    'attempts', array(
        select json_build_object(
            'attempt', n.attempt, 'status', n.status, 'reason', n.reason, 'worker', w.name,
            'requested_at', n.requested_at, 'scheduled_at', n.scheduled_at,
            'started_at', n.started_at, 'ended_at', n.ended_at)
        from (
            (
                select
                    f.id, f.attempt, f.status, f.reason, f.worker_id, f.requested_at, f.scheduled_at,
                    f.started_at, f.ended_at
                from postrider.execution_end f
                where f.execution_id = x.id
                and f.is_final
            )
            union all
            (
                select
                    f.id, f.attempt, f.status, f.reason, f.worker_id, f.requested_at, f.scheduled_at,
                    f.started_at, f.ended_at
                from postrider.execution_end f
                where f.execution_id = x.id
                and not f.is_final
                order by f.id desc
                limit 100
            )
        ) n
        left join postrider.worker w on w.id = n.worker_id
        order by n.id
    ),
    'dead_letters', array(
        select json_build_object(
            'id', d.id, 'at', d.at, 'outcome', d.outcome, 'carrier', d.carrier,
            'attempt', d.attempt, 'worker', w.name, 'reason', d.reason)
        from (
            select l.id, l.at, l.outcome, l.carrier, l.attempt, l.worker_id, l.reason
            from postrider.execution_dead_letter l
            where l.execution_id = x.id
            order by l.id desc
            limit 100
        ) d
        left join postrider.worker w on w.id = d.worker_id
        order by d.id
    ))
from postrider.executions x
where x.id = $1::bigint;
