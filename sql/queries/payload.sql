-- What is sent of one message whose payload did not come along.
--   $1 bigint: message   $2 integer: target
-- Index: message_lane_id (postrider.kept_message).
select m.payload, m.headers, m.correlation_id
from postrider.kept_message($1, $2) m;
