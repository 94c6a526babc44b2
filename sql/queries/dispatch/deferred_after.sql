-- When the next waiting delivery of some endpoints is due that is not due yet.
--   $1 integer[]: endpoints   $2 smallint[]: shards
-- Index: deferred_due.
select e.endpoint_id, min(first.run_at) as run_at
from unnest($1::integer[]) e (endpoint_id)
cross join lateral unnest($2::smallint[]) s (shard)
cross join lateral (
    select d.run_at
    from postrider.deferred d
    where d.endpoint_id = e.endpoint_id
    and d.shard = s.shard
    and d.run_at > statement_timestamp()
    order by d.run_at
    limit 1
) first
group by e.endpoint_id;
