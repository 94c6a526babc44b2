-- Index: none, it reads the whole table.
select json_build_object(
    'id', t.id, 'name', t.name, 'description', t.description, 'schema', t.schema,
    'metadata', t.metadata, 'created_at', t.created_at)
from postrider.event_types t
order by t.name;
