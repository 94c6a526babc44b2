-- The newest first.
-- $1: behind this one, or null; $2: how many.
-- Index: replay_pkey.
select
    json_build_object(
        'id', r.id, 'endpoint_name', r.endpoint_name, 'state', r.state, 'from_ts', r.from_ts,
        'to_ts', r.to_ts, 'status', r.status, 'event_type', r.event_type, 'filter', null, 'rate', r.rate,
        'replayed_count', r.replayed_count, 'progress', r.progress, 'created_by', r.created_by,
        'created_at', r.created_at, 'finished_at', r.finished_at, 'last_error', r.last_error) as item,
    r.id::text as key
from postrider.replays r
where r.id < coalesce($1::text::bigint, 9223372036854775807)
order by r.id desc
limit $2::bigint;
