-- The newest first.
-- $1: behind this one, or null; $2: how many.
-- Index: event_log_pkey.
select
    json_build_object(
        'id', l.id, 'at', l.at, 'event', l.event, 'endpoint_name', l.endpoint_name, 'details', l.details) as item,
    l.id::text as key
from postrider.event_log l
where l.id < coalesce($1::text::bigint, 9223372036854775807)
order by l.id desc
limit $2::bigint;
