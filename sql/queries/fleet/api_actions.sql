-- Actions by name.
-- $1: behind this one, or null; $2: how many.
-- Index: action_pkey.
select
    json_build_object(
        'name', a.name, 'ttl', make_interval(secs => a.ttl_ms / 1000.0),
        'timeout', make_interval(secs => a.timeout_ms / 1000.0), 'max_retries', a.max_retries,
        'priority', a.priority, 'concurrency', a.concurrency, 'description', a.description,
        'created_at', a.created_at) as item,
    a.name::text as key
from postrider.action a
where a.name > coalesce($1::text, '')
order by a.name
limit $2::bigint;
