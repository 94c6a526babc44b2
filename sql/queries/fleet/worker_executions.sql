-- $1: a worker's id, $2: how many of each. What it has, and how what it had ended, the newest first.
-- Index: live_execution_worker, execution_end_worker.
select
    array(
        select json_build_object(
            'id', l.id, 'action', l.action, 'status', l.status, 'priority', l.priority,
            'attempt', l.attempt, 'scheduled_at', l.scheduled_at, 'started_at', l.started_at,
            'deadline_at', l.deadline_at, 'cancel_requested_at', l.cancel_requested_at)
        from postrider.live_generation g
        cross join lateral (
            select l.*
            from postrider.live_execution l
            where l.generation = g.id
            and l.worker_id = $1::integer
            offset 0
        ) l
        order by l.id desc
        limit $2::bigint
    ) as executions,
    array(
        select json_build_object(
            'id', f.execution_id, 'action', f.action, 'attempt', f.attempt, 'status', f.status,
            'reason', f.reason, 'started_at', f.started_at, 'ended_at', f.ended_at)
        from postrider.execution_end f
        where f.worker_id = $1::integer
        order by f.id desc
        limit $2::bigint
    ) as ended;
