-- The endpoints that have waiting deliveries in these shards, and when the first of each is due.
--   $1 smallint[]: shards
-- One probe per endpoint and shard, whatever their number of rows. Index: deferred_due.
with recursive waiting as (
    (
        select d.endpoint_id
        from postrider.deferred d
        order by d.endpoint_id
        limit 1
    )
    union all
    select (
        select d.endpoint_id
        from postrider.deferred d
        where d.endpoint_id > w.endpoint_id
        order by d.endpoint_id
        limit 1
    )
    from waiting w
    where w.endpoint_id is not null
)
select w.endpoint_id, min(first.run_at) as run_at
from waiting w
cross join lateral unnest($1::smallint[]) s (shard)
cross join lateral (
    select d.run_at
    from postrider.deferred d
    where d.endpoint_id = w.endpoint_id
    and d.shard = s.shard
    order by d.run_at
    limit 1
) first
where w.endpoint_id is not null
group by w.endpoint_id;
