-- Leaves. $1 worker, $2 epoch.
select postrider.deregister_worker(p_worker => $1, p_epoch => $2);
