-- postrider.uncordon_worker(name) → whether it was cordoned before
--
-- Operator, admin. It gets executions again. Logged in event_log. Raises 22004 (a null name), 42704 (no such worker).
create or replace function postrider.uncordon_worker(p_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return postrider.switch_worker(p_name, false);
end;
$$;
