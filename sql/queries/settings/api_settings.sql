-- Settings by name.
-- $1: behind this one, or null; $2: how many.
-- Index: setting_pkey.
select
    json_build_object(
        'name', s.name, 'value', s.value, 'default', s.default_value, 'kind', s.kind, 'minimum', s.minimum,
        'maximum', s.maximum, 'choices', s.choices, 'unit', s.unit, 'description', s.description) as item,
    s.name::text as key
from postrider.setting s
where s.name > coalesce($1::text, '')
order by s.name
limit $2::bigint;
