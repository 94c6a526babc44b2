-- postrider.is_http_url(url, maximum) → whether messages can be sent there
--
-- Internal. An http or https address of at most so many characters with a host, and without a user
-- name, a fragment, spaces, quotes or other than ASCII characters: nothing that two programs could
-- read differently. Where the address leads is judged when connecting, not here.
create or replace function postrider.is_http_url(url text, maximum bigint)
returns boolean
language sql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select length(is_http_url.url) <= is_http_url.maximum
    and is_http_url.url ~ '^[!-~]+$'
    and is_http_url.url !~ '[#"<>\\`]'
    -- scheme, bracketed IPv6 address or host name, port, path or query
    and is_http_url.url ~* ('^https?://'
        '(\[[0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]*\]|[a-z0-9_][a-z0-9_.-]{0,252})'
        '(:[0-9]{1,5})?'
        '([/?].*)?$')
    and (
        is_http_url.url !~ '^[^/]+//\['
        or postrider.address_literal(substring(is_http_url.url from '\[[^]]*\]')) is not null)
    and coalesce(
        substring(is_http_url.url from '^[^/]+//[^/?]+:([0-9]{1,5})(?:[/?]|$)')::integer
            between 1 and 65535,
        true);
$$;
