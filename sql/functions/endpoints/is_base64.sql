-- postrider.is_base64(text) → whether it is base64 with its padding, and nothing else
--
-- Internal. Bits behind the last byte would be no part of what is meant.
create or replace function postrider.is_base64(p_text text)
returns boolean
language sql
immutable strict
set search_path = pg_catalog, pg_temp
as $$
    select case
        when p_text ~ '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
        then translate(encode(decode(p_text, 'base64'), 'base64'), E'\n', '') = p_text
        else false
    end;
$$;
