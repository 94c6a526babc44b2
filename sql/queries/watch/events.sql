-- Events, the newest first.
--   $1 text: of one endpoint, or null   $2 double precision: of so many seconds, or null
--   $3 bigint: at most so many
-- Index: event_log_pkey.
select json_build_object(
    'id', l.id, 'at', l.at, 'event', l.event, 'endpoint_name', l.endpoint_name,
    'details', l.details)
from postrider.event_log l
where (l.endpoint_name = $1::text or $1::text is null)
and (l.at > now() - $2::double precision * interval '1 second' or $2::double precision is null)
order by l.id desc
limit $3::bigint;
