-- Says that the worker lives; what it is to stop. $1 worker, $2 epoch, $3 what keeps it from working.
select h.execution_id, h.fence
from postrider.worker_heartbeat(p_worker => $1, p_epoch => $2, p_error => $3) h;
