-- $1: the role of a token. The database role that belongs to it, if that has no rights on the schema.
-- Index: none, the table has one row.
select w.name
from postrider.installation i
cross join lateral (
    select i.role_prefix || '_' || case $1::text when 'viewer' then 'monitor' else $1::text end as name
) w
where not has_schema_privilege(w.name, 'postrider', 'usage');
