-- How many deliveries wait for each target of some endpoints in some shards, and when the oldest of
-- their messages was sent:
-- what waits for its first attempt until later counts from then on.
--   $1 integer[]: endpoints   $2 smallint[]: shards
-- Groups are of type xid, which can be hashed and not be sorted: sorting a flood would take seconds.
-- Index: deferred_due.
select s.shard, c.target, c.waiting, c.oldest
from unnest($1::integer[]) e (endpoint_id)
cross join lateral unnest($2::smallint[]) s (shard)
cross join lateral (
    select
        d.target::text::xid::text::integer as target, count(*) as waiting, min(
            case
                when d.retry_count = 0 and not d.is_blocked and d.run_at > now() then d.run_at
                else d.message_created_at
            end) as oldest
    from postrider.deferred d
    where d.endpoint_id = e.endpoint_id
    and d.shard = s.shard
    group by d.target::text::xid
) c;
