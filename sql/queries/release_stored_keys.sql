-- Sees to it that the first waiting delivery of every ordering key in these shards is not blocked.
--   $1 smallint[]: shards
-- Reads all of it. Index: deferred_key.
select postrider.release_keys(array(
    select distinct d.ordering_key
    from postrider.deferred d
    where d.shard = any ($1)
    and d.is_blocked
    and d.ordering_key is not null
)) as answer;
