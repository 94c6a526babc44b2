-- postrider.check_config_object(protocol, path, object) → nothing
--
-- Internal: what validate_endpoint_config asks of a config, and of the objects in it. `path` is empty for the whole
-- config, and otherwise that of the object with a dot behind it. Raises 22023 for a key that is unknown (naming the
-- nearest known one) or missing, and a value that is not what its key expects.
create or replace function postrider.check_config_object(
    p_protocol text, p_path text, p_object jsonb)
returns void
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    name_max constant integer := 64;
    -- How much of a name may differ from one that is still taken for it, in parts of a thousand.
    difference_max constant integer := 666;
    listed_max constant integer := 2048;
    given record;
    known postrider.transport_option;
    number numeric;
    is_valid boolean;
    expected text;
    fields text;
    hint text;
    missing text;
begin
    for given in
        select c.key, c.value, c.value #>> '{}' as word, jsonb_typeof(c.value) as type
        from jsonb_each(p_object) c
        order by c.key collate "C"
    loop
        select o.*
        into known
        from postrider.transport_option o
        where o.protocol = p_protocol
        and o.name = p_path || given.key
        and position('.' in given.key) = 0;

        if not found then
            select 'did you mean ' || d.name || '?'
            into hint
            from (
                select m.name, m.key,
                    postrider.edit_distance(given.key, m.key) * 1000
                    / greatest(length(left(given.key, name_max)), length(m.key)) as difference
                from postrider.config_members(p_protocol, p_path) m
            ) d
            where d.difference <= difference_max
            order by d.difference, left(d.key, 1) <> left(given.key, 1), d.name collate "C"
            limit 1;
            raise exception 'config.% is not a known option of protocol %; %',
                p_path || left(given.key, name_max),
                p_protocol,
                coalesce(hint, (
                    select 'known options: ' || string_agg(m.name, ', ' order by m.name collate "C")
                    from postrider.config_members(p_protocol, p_path) m
                ))
                using errcode = '22023';
        end if;

        case known.kind
        when 'text' then
            is_valid := given.type = 'string'
                and length(given.word) between known.minimum and known.maximum
                and given.word !~ '[\u0001-\u001f\u007f]';
            expected := format('a text of %s to %s characters without control characters',
                known.minimum, known.maximum);
        when 'integer' then
            -- 5.0 is not one: the dispatcher would read it as a fraction.
            number := case when given.type = 'number' and given.word ~ '^-?[0-9]+$'
                then given.word::numeric end;
            is_valid := coalesce(number between known.minimum and known.maximum, false);
            expected := format('an integer from %s to %s', known.minimum, known.maximum);
        when 'boolean' then
            is_valid := given.type = 'boolean';
            expected := 'true or false';
        when 'one_of' then
            is_valid := given.type = 'string' and known.choices ? given.word;
            expected := format('one of %s', (
                select string_agg(c.choice, ', ' order by c.place)
                from jsonb_array_elements_text(known.choices) with ordinality c (choice, place)
            ));
        when 'url' then
            is_valid := given.type = 'string'
                and postrider.is_http_url(given.word, known.maximum);
            expected := format(
                'an http:// or https:// address of at most %s characters with a host, and without '
                'a user name, a fragment, spaces, quotes or other than ASCII characters',
                known.maximum);
        when 'signing_keys' then
            is_valid := given.type = 'array'
                and (
                    select count(*) <= known.maximum
                    and count(distinct k.key) = count(*)
                    and coalesce(bool_and(postrider.is_signing_key(k.key)), true)
                    from jsonb_array_elements(
                        case when given.type = 'array' then given.value else '[]' end) k (key)
                );
            expected := format(
                'an array of at most %s keys, no two alike, each whsec_ and the base64 of 24 to 64 bytes, '
                'whsk_ and the base64 of 64 bytes, an ed25519 seed and its public key, or raw: and 8 to 256 '
                'characters without control characters',
                known.maximum);
        when 'header_name' then
            is_valid := given.type = 'string'
                and length(given.word) <= known.maximum
                and given.word ~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$'
                and not postrider.is_reserved_header(given.word);
            expected := format(
                'the name of a header of at most %s characters that is not reserved', known.maximum);
        when 'template' then
            select string_agg(format('{%s}', c.choice), ', ' order by c.place)
            into fields
            from jsonb_array_elements_text(known.choices) with ordinality c (choice, place);
            is_valid := given.type = 'string'
                and length(given.word) <= known.maximum
                and given.word !~ '[\u0001-\u001f\u007f]'
                and given.word ~ format(
                    '^([^{}]|\{(%s)\})*$', btrim(replace(fields, '}, {', '|'), '{}'))
                and (not known.choices ? 'body' or position('{body}' in given.word) > 0);
            expected := format(
                'a text of at most %s characters without control characters whose only braces are %s%s',
                known.maximum, fields,
                case when known.choices ? 'body' then ', {body} among them' end);
        when 'url_template' then
            is_valid := given.type = 'string'
                and length(given.word) <= known.maximum
                and postrider.is_url_template(given.word);
            expected := format(
                'a path of at most %s characters that begins with one / and has no segment of dots, with '
                'or without a query, of the characters of URLs and the fields {message_id}, '
                '{event_type}, {ordering_key}, {correlation_id}, {header:NAME}, {metadata:NAME} and '
                '{payload:/POINTER}',
                known.maximum);
        when 'lines' then
            is_valid := given.type = 'string'
                and length(given.word) between known.minimum and known.maximum
                and given.word !~ '[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f]';
            expected := format('a text of %s to %s characters whose only control characters are tabs and '
                'the ends of lines', known.minimum, known.maximum);
        when 'texts' then
            is_valid := given.type = 'array'
                and (
                    select count(*) <= known.maximum
                    and count(distinct t.element) = count(*)
                    and coalesce(
                        bool_and(
                            jsonb_typeof(t.element) = 'string'
                            and length(t.element #>> '{}') between 1 and listed_max
                            and t.element #>> '{}' !~ '[\u0001-\u001f\u007f]'),
                        true)
                    from jsonb_array_elements(
                        case when given.type = 'array' then given.value else '[]' end) t (element)
                );
            expected := format('an array of at most %s texts of 1 to %s characters without control '
                'characters, no two alike', known.maximum, listed_max);
        when 'object' then
            is_valid := given.type = 'object'
                or given.type = 'string' and coalesce(known.choices ? given.word, false);
            expected := coalesce(
                (
                    select format('one of %s, or an object', string_agg(c.choice, ', ' order by c.place))
                    from jsonb_array_elements_text(known.choices) with ordinality c (choice, place)
                    having count(*) > 0
                ),
                'an object');
        when 'map', 'headers', 'header_templates' then
            is_valid := given.type = 'object'
                and (
                    select count(*) <= known.maximum
                    and coalesce(bool_and(jsonb_typeof(e.value) = 'string'), true)
                    from jsonb_each(
                        case when given.type = 'object' then given.value else '{}' end) e
                );
            expected := format('an object of at most %s texts', known.maximum);
        end case;
        if not is_valid then
            raise exception 'config.% must be %', known.name, expected
                using errcode = '22023';
        end if;
        if known.kind in ('headers', 'header_templates') then
            perform postrider.check_config_headers(
                known.name, given.value, known.kind = 'header_templates');
        elsif known.kind = 'object' and given.type = 'object' then
            perform postrider.check_config_object(p_protocol, known.name || '.', given.value);
        end if;
    end loop;

    select m.name
    into missing
    from postrider.config_members(p_protocol, p_path) m
    where m.required
    and not p_object ? m.key
    order by m.name collate "C"
    limit 1;
    if found then
        raise exception 'config.% is required', missing
            using errcode = '22023';
    end if;
end;
$$;
