-- postrider.check_config_headers(key, headers, are_templates) → nothing
--
-- Internal. Raises 22023 for the first header, by name, that cannot be sent, is not the user's to
-- set, or is no template where it has to be. `key` is where in the config the headers stand; they are an object of
-- texts already.
create or replace function postrider.check_config_headers(
    key text, headers jsonb, are_templates boolean)
returns void
language plpgsql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
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
            when postrider.is_reserved_header(header.name) then
                format('header `%s` is reserved', lower(header.name))
            when check_config_headers.are_templates
            and not postrider.is_header_template(header.value) then
                format('header `%s` is no template: its braces are fields such as {event_type}, or doubled',
                    header.name)
        end;
        if problem is not null then
            raise exception 'config.%: %', check_config_headers.key, problem
                using errcode = '22023';
        end if;
    end loop;
end;
$$;
