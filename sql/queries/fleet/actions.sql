-- Actions, and how many of their executions count towards the limit.
-- Index: none, all of them are read; live_execution_admitted.
select json_build_object(
    'name', a.name, 'ttl', make_interval(secs => a.ttl_ms / 1000.0),
    'timeout', make_interval(secs => a.timeout_ms / 1000.0), 'max_retries', a.max_retries,
    'priority', a.priority, 'concurrency', a.concurrency, 'scheduled_count', n.scheduled_count,
    'running_count', n.running_count, 'description', a.description, 'created_at', a.created_at)
from postrider.action a
cross join lateral (
    select
        count(*) filter (where l.status = 'scheduled') as scheduled_count,
        count(*) filter (where l.status = 'running') as running_count
    from postrider.live_generation g
    cross join lateral (
        select l.status
        from postrider.live_execution l
        where l.generation = g.id
        and l.action = a.name
        and l.scheduled_at is not null
        offset 0
    ) l
) n
order by a.name;
