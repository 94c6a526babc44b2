-- postrider.caller() → the role that acts
--
-- Internal: for functions with the owner's rights. Who logged in, or the role that the session acts as (set role). A plain SQL
-- function, so that the planner puts it in its place.
create or replace function postrider.caller()
returns text
language sql
stable
as $$
    select case pg_catalog.current_setting('role')
        when 'none' then session_user::text
        else pg_catalog.current_setting('role')
    end;
$$;
