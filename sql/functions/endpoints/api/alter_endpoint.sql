-- postrider.alter_endpoint(endpoint_name, new_config) → true
--
-- Admin. Replaces an endpoint's config, as one piece. Secret options that the new config does not
-- mention stay as they are; one that is given as null is taken away. Dispatchers follow at once.
-- Raises 22004 (a null), 42704 (no such endpoint), 22023 (a config that is not valid).
create or replace function postrider.alter_endpoint(endpoint_name text, new_config jsonb)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if alter_endpoint.endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if alter_endpoint.new_config is null then
        raise exception 'Config must not be null' using errcode = '22004';
    end if;
    update postrider.endpoints e
    set config = alter_endpoint.new_config
    where e.name = alter_endpoint.endpoint_name;
    if not found then
        raise exception 'Endpoint ''%'' does not exist', alter_endpoint.endpoint_name
            using errcode = '42704';
    end if;
    return true;
end;
$$;
