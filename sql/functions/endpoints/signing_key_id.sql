-- postrider.signing_key_id(key) → the id of a key that signs
--
-- Internal. The beginning of its hash: it says which key it is, and nothing about it.
create or replace function postrider.signing_key_id(p_key text)
returns text
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select left(encode(sha256(convert_to(p_key, 'UTF8')), 'hex'), 16);
$$;
