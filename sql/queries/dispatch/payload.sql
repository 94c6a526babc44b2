-- What is sent of one message whose payload did not come along.
--   $1 bigint: message   $2 integer: target
-- Index: message_id (postrider.kept_message).
select m.correlation_id, m.event_type, m.headers, m.payload, m.body, m.content_type,
    m.replay_of, m.metadata
from postrider.kept_message($1, $2) m;
