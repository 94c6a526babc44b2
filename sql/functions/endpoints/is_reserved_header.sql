-- postrider.is_reserved_header(name) → whether users may not set this header
--
-- Internal. Those of HTTP itself and ours. The dispatcher has the same list.
create or replace function postrider.is_reserved_header(p_name text)
returns boolean
language sql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select lower(p_name) = any (array[
        'connection', 'content-length', 'expect', 'host', 'http2-settings', 'keep-alive',
        'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
        'transfer-encoding', 'upgrade', 'webhook-id', 'webhook-signature', 'webhook-timestamp'])
    or starts_with(lower(p_name), 'postrider-');
$$;
