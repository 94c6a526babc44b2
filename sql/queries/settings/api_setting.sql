-- $1: its name.
-- Index: setting_pkey.
select
    json_build_object(
        'name', s.name, 'value', s.value, 'default', s.default_value, 'kind', s.kind, 'minimum', s.minimum,
        'maximum', s.maximum, 'choices', s.choices, 'unit', s.unit, 'description', s.description) as item
from postrider.setting s
where s.name = $1::text;
