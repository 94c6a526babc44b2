-- $1: behind this name, or null; $2: how many. Index: none, the name's own constraint; the view has its own.
select
    json_build_object(
        'id', w.id, 'name', w.name, 'pool', w.pool, 'status', w.status, 'health', w.health,
        'carrier', w.carrier, 'capacity', w.capacity, 'scheduled_count', w.scheduled_count,
        'running_count', w.running_count, 'failure_streak', w.failure_streak, 'failure_rate', w.failure_rate,
        'queue_depth', w.queue_depth, 'labels', w.labels, 'version', w.version, 'host', w.host,
        'last_error', w.last_error, 'epoch', w.epoch, 'cordoned_at', w.cordoned_at,
        'registered_at', w.registered_at, 'heartbeat_at', w.heartbeat_at, 'created_at', w.created_at) as item,
    w.name as key
from (
    select k.id
    from postrider.worker k
    where k.name > coalesce($1::text, '')
    order by k.name
    limit $2::bigint
) k
join postrider.workers w on w.id = k.id
order by w.name;
