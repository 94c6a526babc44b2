-- The attempts of a message that are on record, the oldest first, at most 1,000.
--   $1 bigint: its id
-- Index: attempt_message_id.
select json_build_object(
    'endpoint_name', a.endpoint_name, 'attempt', a.attempt, 'started_at', a.started_at,
    'duration_ms', a.duration_ms, 'outcome', a.outcome, 'status', a.status, 'error', a.error)
from postrider.attempts a
where a.message_id = $1::bigint
order by a.started_at, a.endpoint_name, a.attempt
limit 1000;
