-- Sees to it that the first waiting delivery of ordering keys in these shards is not blocked: of some keys,
-- in their order. `last`: the key behind which it goes on; null: these were the last.
--   $1 smallint[]: shards   $2 text: behind this key   $3 bigint: looks at so many deliveries
-- Index: deferred_key.
with looked as materialized (
    select d.ordering_key, d.shard, d.is_blocked
    from postrider.deferred d
    where d.ordering_key is not null
    and d.ordering_key > $2
    order by d.ordering_key, d.endpoint_id, d.message_id
    limit $3
), ending as materialized (
    -- Of that key there may be more than was looked at.
    select l.ordering_key
    from looked l
    offset $3 - 1
)
select
    postrider.release_keys(array(
        select distinct l.ordering_key
        from looked l
        where l.shard = any ($1)
        and (l.is_blocked or l.ordering_key = (select e.ordering_key from ending e))
    )) as answer,
    (select e.ordering_key from ending e) as last;
