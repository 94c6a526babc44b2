-- postrider.blocked_keys: ordering keys with deliveries that wait behind another one
--
-- Admin, operator, application, monitor. One row per key and endpoint. blocked_count ends at 1,000. What is in
-- front is named when it waits itself; it is null while that is being attempted or was read and has
-- not been. Cause: `endpoint disabled`, `in flight`, `retry` (with last_error) or `scheduled`. Jumps
-- from key to key, so the cost depends on the number of keys that wait, not on how much does. Uses
-- deferred_key, deferred_key_everywhere.
create or replace view postrider.blocked_keys as
with recursive jump (ordering_key, endpoint_id) as (
    (
        select d.ordering_key, d.endpoint_id
        from postrider.deferred d
        where d.ordering_key is not null
        order by d.ordering_key, d.endpoint_id
        limit 1
    )
    union all
    select n.ordering_key, n.endpoint_id
    from jump j
    cross join lateral (
        select d.ordering_key, d.endpoint_id
        from postrider.deferred d
        where d.ordering_key is not null
        and (d.ordering_key, d.endpoint_id) > (j.ordering_key, j.endpoint_id)
        order by d.ordering_key, d.endpoint_id
        limit 1
    ) n
)
select
    j.ordering_key, e.name as endpoint_name,
    (
        select count(*)
        from (
            select
            from postrider.deferred d
            where d.ordering_key = j.ordering_key
            and d.endpoint_id = j.endpoint_id
            and d.is_blocked
            limit 1000
        ) c
    ) as blocked_count,
    front.message_id as blocking_message_id,
    oldest.message_created_at as blocked_since,
    now() - oldest.message_created_at as age,
    case
        when not front.is_enabled then 'endpoint disabled'
        when front.message_id is null then 'in flight'
        when front.run_at <= now()
        and postrider.is_claimed(front.message_id, front.target, front.retry_count)
        then 'in flight'
        when front.retry_count > 0 or front.last_error is not null then 'retry'
        when front.run_at > now() then 'scheduled'
        else 'in flight'
    end as cause,
    front.last_error
from jump j
left join postrider.endpoints e on e.id = j.endpoint_id
cross join lateral (
    select d.message_created_at
    from postrider.deferred d
    where d.ordering_key = j.ordering_key
    and d.endpoint_id = j.endpoint_id
    and d.is_blocked
    order by d.message_id
    limit 1
) oldest
left join lateral (
    select
        f.message_id, f.target, f.run_at, f.retry_count, f.last_error,
        coalesce(o.enabled, true) as is_enabled
    from (
        (
            select
                d.message_id, d.target, d.endpoint_id, d.run_at, d.retry_count, d.last_error,
                d.is_blocked
            from postrider.deferred d
            where d.ordering_key = j.ordering_key
            and d.endpoint_id = j.endpoint_id
            order by d.message_id
            limit 1
        )
        union all
        -- Across endpoints: at another endpoint, perhaps.
        (
            select
                d.message_id, d.target, d.endpoint_id, d.run_at, d.retry_count, d.last_error,
                d.is_blocked
            from postrider.deferred d
            where d.ordering_key || '' is not null
            and (d.ordering_key || '', d.message_id) >= (j.ordering_key, 0)
            and d.ordering_key || '' <= j.ordering_key
            and exists (
                select
                from postrider.setting s
                where s.name = 'ordering_scope'
                and s.value = 'global'
            )
            order by d.ordering_key || '', d.message_id
            limit 1
        )
    ) f
    left join postrider.endpoints o on o.id = f.endpoint_id
    where not f.is_blocked
    order by f.message_id
    limit 1
) front on true;
