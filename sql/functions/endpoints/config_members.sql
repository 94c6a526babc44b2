-- postrider.config_members(protocol, path) → what stands directly in an object of a config
--
-- Internal. `path` is empty for the whole config, and otherwise that of the object with a dot behind it. Uses
-- transport_option_pkey.
create or replace function postrider.config_members(p_protocol text, p_path text)
returns table (name text, key text, required boolean)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select o.name, substr(o.name, length(p_path) + 1), o.required
    from postrider.transport_option o
    where o.protocol = p_protocol
    and starts_with(o.name, p_path)
    and position('.' in substr(o.name, length(p_path) + 1)) = 0;
$$;
