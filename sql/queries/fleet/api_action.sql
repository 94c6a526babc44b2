-- $1: its name.
-- Index: action_pkey.
select
    json_build_object(
        'name', a.name, 'ttl', make_interval(secs => a.ttl_ms / 1000.0),
        'timeout', make_interval(secs => a.timeout_ms / 1000.0), 'max_retries', a.max_retries,
        'priority', a.priority, 'concurrency', a.concurrency, 'description', a.description,
        'created_at', a.created_at) as item
from postrider.action a
where a.name = $1::text;
