-- postrider.workers: every worker, whether it is there, and what it has
--
-- Admin, operator, application, monitor. status: cordoned; inactive (it has left, was lost, or has never been there);
-- error (it says that it cannot work); busy (no room); active. Health, failure_streak, failure_rate and
-- queue_depth are those of its last heartbeat.
create or replace view postrider.workers as
select
    w.id, w.name, w.pool,
    case
        when w.status = 'inactive' then 'inactive'
        when w.cordoned_at is not null then 'cordoned'
        when w.status = 'error' then 'error'
        when n.scheduled_count + n.running_count >= w.capacity then 'busy'
        else w.status
    end as status,
    w.health, w.carrier, w.capacity, n.scheduled_count, n.running_count, w.failure_streak,
    w.failure_rate, w.queue_depth, w.labels, w.version, w.host, w.last_error, w.epoch, w.cordoned_at,
    w.registered_at, w.heartbeat_at, w.created_at
from postrider.worker w
cross join lateral (
    select
        count(*) filter (where l.status = 'scheduled') as scheduled_count,
        count(*) filter (where l.status = 'running') as running_count
    from postrider.live_generation g
    cross join lateral (
        select l.status
        from postrider.live_execution l
        where l.generation = g.id
        and l.worker_id = w.id
        offset 0
    ) l
) n;
