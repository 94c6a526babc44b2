-- postrider.validate_endpoint_config(protocol, config) → true
--
-- For admins. Checks the config of an endpoint against what its protocol takes, which is written
-- in postrider.transport_option; the dispatcher makes the same check when it opens the endpoint.
-- Raises 22004 for a null argument and 22023 otherwise: for an unknown protocol, a config that is
-- not an object, a key that is unknown (naming the nearest known one) or missing, and a value that
-- is not what its key expects.
create or replace function postrider.validate_endpoint_config(protocol text, config jsonb)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    name_max constant integer := 64;
begin
    if validate_endpoint_config.protocol is null or validate_endpoint_config.config is null then
        raise exception 'protocol and config must not be null'
            using errcode = '22004';
    end if;
    if not exists (
        select
        from postrider.transport_option o
        where o.protocol = validate_endpoint_config.protocol
    ) then
        raise exception 'unknown protocol `%`; known protocols: %',
            left(validate_endpoint_config.protocol, name_max),
            (
                select string_agg(p.protocol, ', ' order by p.protocol collate "C")
                from (select distinct o.protocol from postrider.transport_option o) p
            )
            using errcode = '22023';
    end if;
    if jsonb_typeof(validate_endpoint_config.config) <> 'object' then
        raise exception 'config must be an object'
            using errcode = '22023';
    end if;

    perform postrider.check_config_object(
        validate_endpoint_config.protocol, '', validate_endpoint_config.config);
    perform postrider.check_signature_headers(validate_endpoint_config.config);
    perform postrider.check_signing_keys(validate_endpoint_config.config);
    perform postrider.check_auth(validate_endpoint_config.config);
    perform postrider.check_egress(validate_endpoint_config.config);
    return true;
end;
$$;
