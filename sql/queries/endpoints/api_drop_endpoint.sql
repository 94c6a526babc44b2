-- $1: name; $2: versions one of which it has to have, or null; $3: whether what waits for it becomes dead letters.
-- A row without an item: it has another version. No row: there is none. Index: none, the name's own constraint.
with known as materialized (
    select e.name
    from postrider.endpoints e
    where e.name = $1::text
    and (format('%s-%s', e.id, e.version) = any ($2::text[]) or $2::text[] is null)
    for update
)
select row_to_json(d) as item
from known k
cross join lateral postrider.drop_endpoint(k.name, coalesce($3::boolean, false)) d
union all
select null
from postrider.endpoints e
where e.name = $1::text
and not exists (select from known);
