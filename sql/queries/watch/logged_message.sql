-- What is sent of a message that is in the log.
--   $1 bigint: its id
-- Index: message_id.
select
    (extract(epoch from m.created_at) * 1000000)::bigint as created_at,
    (extract(epoch from m.expires_at) * 1000000)::bigint as expires_at,
    m.correlation_id, m.event_type, m.ordering_key, m.headers::text, m.metadata::text, m.payload::text, m.body,
    m.content_type, m.replay_of
from postrider.message m
where m.id = $1::bigint;
