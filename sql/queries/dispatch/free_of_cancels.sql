-- Those of these messages of which no cancellation is under way.
--   $1 bigint[]: messages
-- Index: message_id.
select m.id
from postrider.message m
where m.id = any ($1)
for key share skip locked;
