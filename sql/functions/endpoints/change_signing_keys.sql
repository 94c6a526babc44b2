-- postrider.change_signing_keys(endpoint_id, keys)
--
-- Internal: writes the keys of an endpoint that the caller has locked, but those that have retired. Raises 22023 (what is
-- no key, or more than ten).
create or replace function postrider.change_signing_keys(p_endpoint_id integer, p_keys jsonb)
returns void
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    update postrider.endpoints e
    set config = e.config || jsonb_build_object(
        'signing_keys', postrider.keys_that_sign(p_endpoint_id, p_keys))
    where e.id = p_endpoint_id;
$$;
