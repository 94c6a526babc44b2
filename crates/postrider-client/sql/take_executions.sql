-- Takes executions and starts them, in one transaction. $1 worker, $2 epoch, $3 how many at most.
select
    s.execution_id, s.fence, s.action, s.parameters::text, s.attempt, s.max_retries,
    (extract(epoch from s.timeout) * 1000)::bigint, s.deadline_at, s.correlation_id::text
from postrider.take_executions(p_worker => $1, p_limit => $3, p_epoch => $2) t
cross join lateral postrider.start_execution(t.execution_id, t.fence, $2) s
order by t.priority desc, t.execution_id;
