-- What the database thinks that a worker has. $1 worker, $2 epoch.
select e.execution_id, e.fence, e.status
from postrider.worker_executions(p_worker => $1, p_epoch => $2) e;
