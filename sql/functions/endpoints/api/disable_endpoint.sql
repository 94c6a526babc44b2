-- postrider.disable_endpoint(endpoint) → whether that changed anything
--
-- Operator, admin. Stops deliveries to an endpoint and refuses new messages for it; those that wait keep waiting.
-- Logged in event_log. Raises 22004 (a null name), 42704 (no such endpoint).
create or replace function postrider.disable_endpoint(p_endpoint_name text)
returns boolean
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select postrider.switch_endpoint(p_endpoint_name, false, null);
$$;
