-- Consumers by name.
-- $1: behind this one, or null; $2: how many.
-- Index: none, the name's own constraint.
select
    json_build_object(
        'id', c.id, 'name', c.name, 'ordering', c.ordering, 'event_types', c.event_types, 'filter', c.filter,
        'partition_count', c.partition_count, 'channel', 'postrider:' || c.name, 'created_at', c.created_at) as item,
    c.name::text as key
from postrider.consumer c
where c.name > coalesce($1::text, '')
order by c.name
limit $2::bigint;
