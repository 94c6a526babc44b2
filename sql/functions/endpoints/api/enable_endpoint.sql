-- postrider.enable_endpoint(endpoint) → whether that changed anything
--
-- Operator, admin. Lets messages go to an endpoint again; those that waited are due at once.
-- Logged in event_log. Raises 22004 (a null name), 42704 (no such endpoint).
create or replace function postrider.enable_endpoint(p_endpoint_name text)
returns boolean
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select postrider.switch_endpoint(p_endpoint_name, true, null);
$$;
