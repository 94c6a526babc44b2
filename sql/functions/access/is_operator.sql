-- postrider.is_operator() → whether the caller has the rights of the role operator, or of admin
--
-- Internal: what applications do with what is theirs is not in event_log, what operators do is.
create or replace function postrider.is_operator()
returns boolean
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select postrider.is_admin() or postrider.may_act_for(i.role_prefix || '_operator')
    from postrider.installation i;
$$;
