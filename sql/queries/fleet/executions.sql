-- Executions, the newest first, of those that are looked at: the $7 newest with an id below $6 that may
-- have the status.
--   $1 text: a status, or null   $2 text: an action, or null   $3 text: a pool, or null
--   $4 text: the name of a worker to whom they are addressed or who has or had them last, or null
--   $5 bigint: at most so many   $6 bigint: with an id below this one   $7 bigint: so many are looked at
-- One row: how many were looked at, the lowest id of those, and the executions.
-- Index: live_execution_pkey, execution_end_unsuccessful, execution_pkey. One of them, by the status; the
-- view has its own.
with looked_at as materialized (
    (
        select l.id
        from postrider.live_execution l
        where $1::text in ('requested', 'scheduled', 'running')
        and l.status = $1::text
        and l.id < $6::bigint
        order by l.id desc
        limit $7::bigint
    )
    union all
    (
        select f.execution_id
        from postrider.execution_end f
        where $1::text in ('failed', 'timeout', 'cancelled')
        and f.is_final
        and f.status <> 'completed'
        and f.status = $1::text
        and f.execution_id < $6::bigint
        order by f.execution_id desc
        limit $7::bigint
    )
    union all
    (
        select e.id
        from postrider.execution e
        where coalesce($1::text, 'completed') = 'completed'
        and e.id < $6::bigint
        order by e.id desc
        limit $7::bigint
    )
),
found as materialized (
    select
        x.id, x.action, x.status, x.addressed_to, x.pool, x.worker, x.priority, x.ttl, x.timeout,
        x.attempt, x.max_retries, x.retry_reason, x.original_execution, x.reason, x.created_at,
        x.requested_at, x.scheduled_at, x.started_at, x.ended_at, x.expires_at, x.deadline_at,
        x.retry_at, x.cancel_requested_at, x.correlation_id, x.idempotency_key
    from looked_at a
    -- Each by its id: joined, a plan for many reads all executions that there are.
    cross join lateral (
        select
            v.id, v.action, v.status, v.addressed_to, v.pool, v.worker, v.priority, v.ttl, v.timeout,
            v.attempt, v.max_retries, v.retry_reason, v.original_execution, v.reason, v.created_at,
            v.requested_at, v.scheduled_at, v.started_at, v.ended_at, v.expires_at, v.deadline_at,
            v.retry_at, v.cancel_requested_at, v.correlation_id, v.idempotency_key
        from postrider.executions v
        where v.id = a.id
        limit 1
    ) x
    where (x.status = $1::text or $1::text is null)
    and (x.action = $2::text or $2::text is null)
    and (x.pool = $3::text or $3::text is null)
    and (x.worker = $4::text or x.addressed_to = $4::text or $4::text is null)
    order by x.id desc
    limit $5::bigint
)
select
    (select count(*) from looked_at) as looked_at_count,
    (select min(a.id) from looked_at a) as lowest_id,
    array(
        select json_build_object(
            'id', x.id, 'action', x.action, 'status', x.status, 'addressed_to', x.addressed_to,
            'pool', x.pool, 'worker', x.worker, 'priority', x.priority, 'ttl', x.ttl,
            'timeout', x.timeout, 'attempt', x.attempt, 'max_retries', x.max_retries,
            'retry_reason', x.retry_reason, 'original_execution', x.original_execution,
            'reason', x.reason, 'created_at', x.created_at, 'requested_at', x.requested_at,
            'scheduled_at', x.scheduled_at, 'started_at', x.started_at, 'ended_at', x.ended_at,
            'expires_at', x.expires_at, 'deadline_at', x.deadline_at, 'retry_at', x.retry_at,
            'cancel_requested_at', x.cancel_requested_at, 'correlation_id', x.correlation_id,
            'idempotency_key', x.idempotency_key)
        from found x
        order by x.id desc
    ) as executions;
