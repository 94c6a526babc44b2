-- Takes a worker's name. $1 name, $2 pool, $3 capacity, $4 labels, $5 version, $6 host, $7 carrier.
select
    r.worker_id, r.epoch, (extract(epoch from r.heartbeat_interval) * 1000)::bigint,
    (extract(epoch from r.stale_after) * 1000)::bigint,
    current_setting('max_prepared_transactions')::integer > 0
from postrider.register_worker(
    p_name => $1, p_pool => $2, p_capacity => $3, p_labels => $4::jsonb, p_version => $5,
    p_host => $6, p_carrier => $7) r;
