-- postrider.may_act_for(role) → whether the caller has the rights of this role
--
-- Internal: for what belongs to the role that took it, a worker's name or a lease. Null stands for nobody, and anybody may
-- act for nobody.
create or replace function postrider.may_act_for(p_role text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    acting constant text := postrider.caller();
begin
    return p_role is null
        or p_role = acting
        or exists (
            select
            from pg_roles r
            where r.rolname = p_role
            and pg_has_role(acting, r.oid, 'usage')
        );
end;
$$;
