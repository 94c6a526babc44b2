-- postrider.check_retry_policy_keys(policy, form, path)
--
-- Internal. Checks each key of a policy, or of a policy inside of one, by itself; without a form the
-- keys of all forms are known. Raises 22023 with the field's path, the rule and the bound.
create or replace function postrider.check_retry_policy_keys(policy jsonb, form text, path text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    -- Inside of a policy it means nothing.
    common constant text[] := case when path = 'retry_policy'
        then array['ignore_subscription_override'] else '{}' end;
    field text;
    given record;
    known record;
    entry record;
    nearest text;
begin
    for given in
        select f.key, f.value, f.value #>> '{}' as word, jsonb_typeof(f.value) as type
        from jsonb_each(policy) f
        order by f.key collate "C"
    loop
        field := path || '.' || left(given.key, 64);
        if given.key = any (common) then
            if given.type <> 'boolean' then
                raise exception '% must be true or false', field using errcode = '22023';
            end if;
            continue;
        end if;
        select k.*
        into known
        from postrider.retry_policy_keys() k
        where k.name = given.key
        and (k.form = check_retry_policy_keys.form or check_retry_policy_keys.form is null)
        limit 1;
        if known.name is null then
            select n.name
            into nearest
            from (
                select k.name
                from postrider.retry_policy_keys() k
                where k.form = check_retry_policy_keys.form
                or check_retry_policy_keys.form is null
                union
                select unnest(common)
            ) n (name)
            order by postrider.edit_distance(given.key, n.name), n.name collate "C"
            limit 1;
            raise exception '% is not a known key (did you mean %?)', field, nearest
                using errcode = '22023';
        end if;

        case known.kind
        when 'object' then
            -- Its own keys are checked on their own.
            null;
        when 'word' then
            if given.type <> 'string' or given.word <> all (known.choices) then
                raise exception '% must be one of %', field, array_to_string(known.choices, ', ')
                    using errcode = '22023';
            end if;
        when 'fraction' then
            if given.type <> 'number' then
                raise exception '% must be a number', field using errcode = '22023';
            end if;
            if given.word::numeric not between 0 and 1 then
                raise exception '% must be between 0 and 1, got %', field, left(given.word, 64)
                    using errcode = '22023';
            end if;
        else
            if known.kind = 'schedule' and given.type <> 'array' then
                raise exception '% must be an array of integers', field using errcode = '22023';
            end if;
            if known.kind = 'schedule' and jsonb_array_length(given.value) > 1000 then
                raise exception '% must have at most 1000 entries, got %',
                    field, jsonb_array_length(given.value) using errcode = '22023';
            end if;
            -- An integer is checked as the only entry of a list.
            for entry in
                select
                    e.value #>> '{}' as word, jsonb_typeof(e.value) as type,
                    case when known.kind = 'schedule' then format('[%s]', e.position - 1) end as place
                from jsonb_array_elements(
                    case when known.kind = 'schedule'
                        then given.value else jsonb_build_array(given.value) end)
                    with ordinality e (value, position)
                order by e.position
            loop
                -- 5.0 is not one: the dispatcher would read it as a fraction.
                if entry.type <> 'number' or entry.word !~ '^-?[0-9]+$' then
                    raise exception '% must be an integer', field || coalesce(entry.place, '')
                        using errcode = '22023';
                end if;
                if entry.word::numeric not between known.minimum and known.maximum then
                    raise exception '% must be between % and %, got %',
                        field || coalesce(entry.place, ''), known.minimum, known.maximum,
                        left(entry.word, 64) using errcode = '22023';
                end if;
            end loop;
        end case;
    end loop;
end;
$$;
