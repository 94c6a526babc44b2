-- postrider.validate_endpoint_config(protocol, config) → true
--
-- For admins. Checks the config of an endpoint against what its protocol takes, which is written
-- in postrider.transport_option; the dispatcher makes the same check when it opens the endpoint.
-- Raises 22004 for a null argument and 22023 otherwise: for an unknown protocol, a config that is
-- not an object, a key that is unknown (naming the nearest known one) or missing, and a value that
-- is not what its key expects.
create or replace function postrider.validate_endpoint_config(protocol text, config jsonb)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    name_max constant integer := 64;
    -- How much of a name may differ from one that is still taken for it, in parts of a thousand.
    difference_max constant integer := 666;
    given record;
    known postrider.transport_option;
    number numeric;
    is_valid boolean;
    expected text;
    hint text;
begin
    if validate_endpoint_config.protocol is null or validate_endpoint_config.config is null then
        raise exception 'protocol and config must not be null'
            using errcode = '22004';
    end if;
    if not exists (
        select
        from postrider.transport_option o
        where o.protocol = validate_endpoint_config.protocol
    ) then
        raise exception 'unknown protocol `%`; known protocols: %',
            left(validate_endpoint_config.protocol, name_max),
            (
                select string_agg(p.protocol, ', ' order by p.protocol collate "C")
                from (select distinct o.protocol from postrider.transport_option o) p
            )
            using errcode = '22023';
    end if;
    if jsonb_typeof(validate_endpoint_config.config) <> 'object' then
        raise exception 'config must be an object'
            using errcode = '22023';
    end if;

    for given in
        select c.key, c.value, c.value #>> '{}' as word, jsonb_typeof(c.value) as type
        from jsonb_each(validate_endpoint_config.config) c
        order by c.key collate "C"
    loop
        select o.*
        into known
        from postrider.transport_option o
        where o.protocol = validate_endpoint_config.protocol
        and o.name = given.key;

        if not found then
            select 'did you mean ' || d.name || '?'
            into hint
            from (
                select o.name,
                    postrider.edit_distance(given.key, o.name) * 1000
                    / greatest(length(left(given.key, name_max)), length(o.name)) as difference
                from postrider.transport_option o
                where o.protocol = validate_endpoint_config.protocol
            ) d
            where d.difference <= difference_max
            order by d.difference, d.name collate "C"
            limit 1;
            raise exception 'config.% is not a known option of protocol %; %',
                left(given.key, name_max),
                validate_endpoint_config.protocol,
                coalesce(hint, (
                    select 'known options: ' || string_agg(o.name, ', ' order by o.name collate "C")
                    from postrider.transport_option o
                    where o.protocol = validate_endpoint_config.protocol
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
                'an array of at most %s keys, no two alike, each whsec_ and the base64 of 24 to 64 bytes or '
                'whsk_ and the base64 of 64 bytes, an ed25519 seed and its public key',
                known.maximum);
        when 'map', 'headers' then
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
        if known.kind = 'headers' then
            perform postrider.check_config_headers(known.name, given.value);
        end if;
    end loop;

    select o.*
    into known
    from postrider.transport_option o
    where o.protocol = validate_endpoint_config.protocol
    and o.required
    and not validate_endpoint_config.config ? o.name
    order by o.name collate "C"
    limit 1;
    if found then
        raise exception 'config.% is required', known.name
            using errcode = '22023';
    end if;
    return true;
end;
$$;
