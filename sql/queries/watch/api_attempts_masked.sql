-- $1: a message; $2: behind this attempt, or null; $3: how many. Those of one message are sorted.
-- Index: attempt_message_id.
select
    json_build_object(
        'endpoint_name', a.endpoint_name, 'target', a.target, 'attempt', a.attempt,
        'started_at', a.started_at, 'duration_ms', a.duration_ms, 'outcome', a.outcome, 'status', a.status,
        'error', a.error, 'correlation_id', a.correlation_id, 'response_truncated', a.response_truncated) as item,
    format('%s|%s|%s', a.target, a.started_at, a.attempt) as key
from postrider.attempts a
where a.message_id = $1::bigint
and (
    $2::text is null
    or (a.target, a.started_at, a.attempt) > (
        split_part($2::text, '|', 1)::integer, split_part($2::text, '|', 2)::timestamptz,
        split_part($2::text, '|', 3)::integer))
order by a.target, a.started_at, a.attempt
limit $3::bigint;
