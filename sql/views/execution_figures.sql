-- postrider.execution_figures: how attempts ended, by hour, pool, action and worker
--
-- Admin, operator, monitor. From rolled-up figures, a few seconds behind (roll_up_executions).
create or replace view postrider.execution_figures as
select
    s.hour, nullif(s.pool, '') as pool, s.action, w.name as worker, nullif(s.worker_id, 0) as worker_id,
    coalesce(sum(s.ended_count) filter (where s.status = 'completed'), 0)::bigint as completed_count,
    coalesce(sum(s.ended_count) filter (where s.status = 'failed'), 0)::bigint as failed_count,
    coalesce(sum(s.ended_count) filter (where s.status = 'timeout'), 0)::bigint as timeout_count,
    coalesce(sum(s.ended_count) filter (where s.status = 'cancelled'), 0)::bigint as cancelled_count,
    coalesce(sum(s.attempt_count - s.ended_count) filter (where s.status = 'failed'), 0)::bigint
        as retried_count,
    coalesce(sum(s.attempt_count) filter (where s.status = 'released'), 0)::bigint as released_count,
    make_interval(secs => sum(s.running_seconds) / nullif(sum(s.started_count), 0)) as mean_duration,
    make_interval(secs => sum(s.waiting_seconds) / nullif(sum(s.attempt_count), 0)) as mean_waiting
from postrider.execution_statistics s
left join postrider.worker w on w.id = s.worker_id
group by s.hour, s.pool, s.action, s.worker_id, w.name;
