-- Which of the roles of this database may do what we may not, the one with the fewest rights first.
-- $1: the name of the function or relation, or that of the schema. Reads catalogs only, which everybody may.
-- Index: none, a few rows of each catalog.
select r.rolname::text as role, current_user::text as denied
from pg_namespace n
cross join lateral aclexplode(n.nspacl) a
join pg_roles r on r.oid = a.grantee
join unnest(array['producer', 'consumer', 'worker', 'monitor', 'application', 'operator', 'admin'])
    with ordinality k (kind, rank) on r.rolname like '%\_' || k.kind
where n.nspname = 'postrider'
and a.grantee <> n.nspowner
and (
    exists (
        select
        from pg_proc p
        where p.pronamespace = n.oid
        and p.proname = $1::text
        and has_function_privilege(r.oid, p.oid, 'execute')
    )
    or exists (
        select
        from pg_class c
        where c.relnamespace = n.oid
        and c.relname = $1::text
        and c.relkind in ('r', 'p', 'v')
        -- Of what admins update directly, whoever may read any of it was to change it.
        and case
            when c.relname in ('endpoints', 'event_types', 'subscriptions')
            and has_schema_privilege(n.oid, 'usage')
            and has_any_column_privilege(c.oid, 'select')
            then has_any_column_privilege(r.oid, c.oid, 'update')
            else has_table_privilege(r.oid, c.oid, 'select')
        end
    )
    or n.nspname = $1::text
)
order by k.rank;
