-- postrider.is_operator() → whether the caller has the rights of the role operator, or of admin
--
-- Internal: what applications do with what is theirs is not in event_log, what operators do is.
create or replace function postrider.is_operator()
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
        join pg_roles r on r.rolname in (i.role_prefix || '_operator', i.role_prefix || '_admin')
        where pg_has_role(acting, r.oid, 'usage')
    );
end;
$$;
