-- How many deliveries wait in each of these shards.
--   $1 smallint[]: shards
-- Reads all of it. Index: deferred_due.
select d.shard, count(*) as waiting
from postrider.deferred d
where d.shard = any ($1)
group by d.shard;
