-- postrider.disable_endpoint(endpoint) → whether that changed anything
--
-- Admin. Stops deliveries to an endpoint and refuses new messages for it; those that wait keep waiting.
-- Logged in event_log. Raises 22004 (a null name), 42704 (no such endpoint).
create or replace function postrider.disable_endpoint(p_endpoint_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    update postrider.endpoints e
    set enabled = false
    where e.name = p_endpoint_name
    and e.enabled;
    if found then
        return true;
    end if;
    if not exists (select from postrider.endpoints e where e.name = p_endpoint_name) then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    return false;
end;
$$;
