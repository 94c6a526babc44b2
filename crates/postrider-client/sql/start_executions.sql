-- Starts what a broker has brought. $1 epoch, $2 executions, $3 their fences.
select
    s.execution_id, s.fence, s.action, s.parameters::text, s.attempt, s.max_retries,
    (extract(epoch from s.timeout) * 1000)::bigint, s.deadline_at, s.correlation_id::text
from unnest($2, $3) n (execution, fence)
cross join lateral postrider.start_execution(n.execution, n.fence, $1) s;
