-- postrider.check_config_headers(key, headers) → nothing
--
-- Internal. Raises 22023 for the first header, by name, that cannot be sent or is not the user's to
-- set. `key` is where in the config the headers stand; they are an object of texts already.
create or replace function postrider.check_config_headers(key text, headers jsonb)
returns void
language plpgsql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Those of HTTP itself and ours; `postrider-*` besides. The dispatcher has the same list.
    reserved constant text[] := array[
        'connection', 'content-length', 'expect', 'host', 'http2-settings', 'keep-alive',
        'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
        'transfer-encoding', 'upgrade', 'webhook-id', 'webhook-signature', 'webhook-timestamp'];
    header record;
    problem text;
begin
    for header in
        select h.key as name, h.value
        from jsonb_each_text(check_config_headers.headers) h
        order by h.key collate "C"
    loop
        problem := case
            when header.name !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$' then
                format('`%s` is not a valid header name',
                    regexp_replace(left(header.name, 64), '[[:cntrl:]]', '?', 'g'))
            when header.value ~ '[\u0001-\u0008\u000a-\u001f\u007f]' then
                format('header `%s` must not contain control characters', header.name)
            when lower(header.name) = any (reserved)
            or starts_with(lower(header.name), 'postrider-') then
                format('header `%s` is reserved', lower(header.name))
        end;
        if problem is not null then
            raise exception 'config.%: %', check_config_headers.key, problem
                using errcode = '22023';
        end if;
    end loop;
end;
$$;
