-- postrider.cordon_worker(name) → whether it was not cordoned before
--
-- Operator, admin. From now on it gets nothing new; what it has goes on. Logged in event_log. Raises 22004 (a null
-- name), 42704 (no such worker).
create or replace function postrider.cordon_worker(p_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return postrider.switch_worker(p_name, true);
end;
$$;
