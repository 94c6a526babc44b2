-- How many deliveries wait for each target in a shard, and when the oldest of their messages was sent:
-- what waits for its first attempt until later counts from then on.
--   $1 smallint: the shard
-- Jumps from endpoint to endpoint, and reads all of the shard's.
-- Groups are of type xid, which can be hashed and not be sorted: sorting a flood would take seconds.
-- Index: deferred_due.
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
select $1::smallint as shard, c.target, c.waiting, c.oldest
from waiting w
cross join lateral (
    select
        d.target::text::xid::text::integer as target, count(*) as waiting, min(
            case
                when d.retry_count = 0 and not d.is_blocked and d.run_at > now() then d.run_at
                else d.message_created_at
            end) as oldest
    from postrider.deferred d
    where d.endpoint_id = w.endpoint_id
    and d.shard = $1
    group by d.target::text::xid
) c;
