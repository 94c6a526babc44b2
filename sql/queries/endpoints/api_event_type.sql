-- $1: its name.
-- Index: none, the name's own constraint.
select
    json_build_object(
        'id', t.id, 'name', t.name, 'description', t.description, 'schema', t.schema, 'metadata', t.metadata,
        'created_at', t.created_at) as item
from postrider.event_types t
where t.name = $1::text;
