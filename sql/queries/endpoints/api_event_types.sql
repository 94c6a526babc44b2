-- Event types by name.
-- $1: behind this one, or null; $2: how many.
-- Index: none, the name's own constraint.
select
    json_build_object(
        'id', t.id, 'name', t.name, 'description', t.description, 'schema', t.schema, 'metadata', t.metadata,
        'created_at', t.created_at) as item,
    t.name::text as key
from postrider.event_types t
where t.name > coalesce($1::text, '')
order by t.name
limit $2::bigint;
