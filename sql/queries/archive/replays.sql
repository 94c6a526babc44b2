-- $1: how many. The newest first.
-- Index: none, the view has its own.
select json_build_object(
    'id', r.id, 'endpoint_name', r.endpoint_name, 'state', r.state, 'from_ts', r.from_ts,
    'to_ts', r.to_ts, 'status', r.status, 'event_type', r.event_type, 'filter', r.filter,
    'rate', r.rate, 'replayed_count', r.replayed_count, 'progress', r.progress,
    'created_by', r.created_by, 'created_at', r.created_at, 'finished_at', r.finished_at,
    'last_error', r.last_error)
from postrider.replays r
order by r.id desc
limit $1::bigint;
