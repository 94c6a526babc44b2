-- postrider.url_origin(url) → scheme, host and port, as far as they decide to whom a request goes
--
-- Internal. `https://Example.com:443/a` and `https://example.com/b` have the same.
create or replace function postrider.url_origin(url text)
returns text
language sql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select regexp_replace(
        lower(substring(url_origin.url from '^[^/]+//[^/?]+')),
        '^(http://.*):0*80$|^(https://.*):0*443$',
        '\1\2');
$$;
