-- postrider.is_admin() → whether the caller has the rights of the role admin
--
-- Internal.
create or replace function postrider.is_admin()
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    acting constant text := postrider.caller();
begin
    return exists (
        select
        from postrider.installation i
        join pg_roles r on r.rolname = i.role_prefix || '_admin'
        where pg_has_role(acting, r.oid, 'usage')
    );
end;
$$;
