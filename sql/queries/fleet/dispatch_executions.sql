-- See postrider.dispatch_executions.
select d.execution_id, d.fence, d.attempt, d.action, d.worker_id, d.expires_in_ms, d.correlation_id
from postrider.dispatch_executions($1) d;
