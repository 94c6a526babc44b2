-- Whether there is a schema that the next query (installed_version) can be asked of. Reads the
-- catalogs, because to_regclass raises an error where the role may not use the schema.
select
    current_database()::text as database,
    current_user::text as role,
    pg_get_userbyid(n.nspowner)::text as schema_owner,
    coalesce(pg_has_role(n.nspowner, 'usage'), false) as is_owner,
    exists (
        select
        from pg_class c
        where c.relnamespace = n.oid
        and c.relname = 'installation'
    ) as is_installed
from (select) one
left join pg_namespace n on n.nspname = 'postrider';
