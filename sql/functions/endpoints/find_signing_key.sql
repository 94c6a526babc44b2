-- postrider.find_signing_key(endpoint_name, keys, key_id) → the key
--
-- Internal. Raises 22004 (a null id), 42704 (the endpoint has no such key).
create or replace function postrider.find_signing_key(p_endpoint_name text, p_keys jsonb, p_key_id text)
returns text
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    found_key text;
begin
    if p_key_id is null then
        raise exception 'Key id must not be null' using errcode = '22004';
    end if;
    select g.key
    into found_key
    from jsonb_array_elements_text(p_keys) g (key)
    where postrider.signing_key_id(g.key) = p_key_id;
    if not found then
        raise exception 'Endpoint ''%'' has no signing key ''%''', p_endpoint_name, left(p_key_id, 64)
            using errcode = '42704';
    end if;
    return found_key;
end;
$$;
