-- $1: its id.
-- Index: replay_pkey.
select
    json_build_object(
        'id', r.id, 'endpoint_name', r.endpoint_name, 'state', r.state, 'from_ts', r.from_ts,
        'to_ts', r.to_ts, 'status', r.status, 'event_type', r.event_type, 'filter', r.filter, 'rate', r.rate,
        'replayed_count', r.replayed_count, 'progress', r.progress, 'created_by', r.created_by,
        'created_at', r.created_at, 'finished_at', r.finished_at, 'last_error', r.last_error) as item
from postrider.replays r
where r.id = $1::bigint;
