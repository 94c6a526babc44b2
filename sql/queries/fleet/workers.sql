-- $1: a pool or null, $2: one name or null.
-- Index: none, workers are few; the view has its own for what they have.
select json_build_object(
    'id', w.id, 'name', w.name, 'pool', w.pool, 'status', w.status, 'health', w.health,
    'carrier', w.carrier, 'capacity', w.capacity, 'scheduled_count', w.scheduled_count,
    'running_count', w.running_count, 'failure_streak', w.failure_streak,
    'failure_rate', w.failure_rate, 'queue_depth', w.queue_depth, 'labels', w.labels,
    'version', w.version, 'host', w.host, 'last_error', w.last_error, 'epoch', w.epoch,
    'cordoned_at', w.cordoned_at, 'registered_at', w.registered_at,
    'heartbeat_at', w.heartbeat_at, 'created_at', w.created_at)
from postrider.workers w
where (w.pool = $1::text or $1::text is null)
and (w.name = $2::text or $2::text is null)
order by w.pool, w.name;
