-- Ordering keys that have waiting deliveries, in order, and the first of each at each endpoint; whether they
-- belong to these shards, and whether there are more.
--   $1 smallint[]: shards   $2 text, $3 integer: behind this key at this endpoint
--   $4 bigint: looks at so many deliveries
-- Index: deferred_key.
with looked as materialized (
    select d.ordering_key, d.endpoint_id, d.message_id, d.shard
    from postrider.deferred d
    where d.ordering_key is not null
    and (d.ordering_key, d.endpoint_id) > ($2, $3)
    order by d.ordering_key, d.endpoint_id, d.message_id
    limit $4
)
select
    l.ordering_key, l.endpoint_id, min(l.message_id) as message_id,
    l.shard = any ($1) as is_wanted, (select count(*) from looked) = $4 as has_more
from looked l
group by l.ordering_key, l.endpoint_id, l.shard
order by l.ordering_key, l.endpoint_id;
