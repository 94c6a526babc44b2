-- Tries to lock the doorbells of these shards; how many were got. None while the queue of notifications is
-- half full: then nobody shall ring.
--   $1 integer[]: shards
select count(*) filter (where pg_try_advisory_lock(1886352244, s.shard)) as got
from (select u.usage from postrider.notification_queue_usage() u (usage) offset 0) queue
join unnest($1::integer[]) s (shard) on queue.usage <= 0.5;
