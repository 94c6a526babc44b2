-- postrider.change_signing_keys(endpoint_id, keys)
--
-- Internal: writes the keys of an endpoint that the caller has locked, but those that have retired. Raises 22023 (what is
-- no key, or more than ten), 55000 (the endpoint's config says that nothing is signed).
create or replace function postrider.change_signing_keys(p_endpoint_id integer, p_keys jsonb)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    keys jsonb := postrider.keys_that_sign(p_endpoint_id, p_keys);
    held record;
begin
    update postrider.endpoints e
    set config = e.config || jsonb_build_object('signing_keys', keys)
    where e.id = p_endpoint_id
    returning e.name, e.config ->> 'signature' as signature into held;
    if held.signature = 'none' and keys <> '[]' then
        raise exception 'Endpoint ''%'' signs nothing: its signature is none', held.name
            using errcode = '55000', hint = 'alter_endpoint changes that.';
    end if;
end;
$$;
