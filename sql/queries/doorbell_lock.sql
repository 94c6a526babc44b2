-- Tries to lock the doorbells of these shards; how many were got.
--   $1 integer[]: shards
select count(*) filter (where pg_try_advisory_lock(1886352244, s.shard)) as got
from unnest($1::integer[]) s (shard);
