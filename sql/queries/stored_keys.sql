-- The ordering keys that have waiting deliveries in these shards, and the first of each.
--   $1 smallint[]: shards
-- Reads all of it. Index: deferred_key.
select d.ordering_key, d.endpoint_id, min(d.message_id) as message_id
from postrider.deferred d
where d.shard = any ($1)
and d.ordering_key is not null
group by d.ordering_key, d.endpoint_id;
