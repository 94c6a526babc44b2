-- $1: behind this name, or null; $2: how many. Index: none, the name's own constraint.
select row_to_json(h) as item, h.endpoint_name as key
from (
    select e.name
    from postrider.endpoints e
    where e.name > coalesce($1::text, '')
    order by e.name
    limit $2::bigint
) e
cross join lateral postrider.get_endpoint_health(e.name) h
order by h.endpoint_name;
