-- Endpoints with deliveries that wait, at most $1 of them, each counted up to $2. Jumps from endpoint
-- to endpoint, so the cost depends on the two limits and not on how much waits. Index: deferred_due.
with recursive jump (endpoint_id) as (
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
        where d.endpoint_id > j.endpoint_id
        order by d.endpoint_id
        limit 1
    )
    from jump j
    where j.endpoint_id is not null
), waiting as (
    select j.endpoint_id
    from jump j
    where j.endpoint_id is not null
    limit $1::bigint
)
select json_build_object(
    'endpoint_name', coalesce(e.name, '(dropped)'), 'enabled', e.enabled,
    'waiting', counted.waiting, 'is_more', counted.waiting >= $2::bigint)
from waiting w
left join postrider.endpoints e on e.id = w.endpoint_id
cross join lateral (
    select count(*) as waiting
    from (
        select
        from postrider.deferred d
        where d.endpoint_id = w.endpoint_id
        limit $2::bigint
    ) d
) counted
order by counted.waiting desc, e.name;
