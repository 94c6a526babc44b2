-- $1: one name, or null for all.
-- Index: none, a row per setting.
select json_build_object(
    'name', s.name, 'value', s.value, 'default', s.default_value, 'kind', s.kind,
    'minimum', s.minimum, 'maximum', s.maximum, 'choices', s.choices, 'unit', s.unit,
    'description', s.description)
from postrider.setting s
where s.name = $1::text
or $1::text is null
order by s.name;
