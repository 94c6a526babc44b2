-- postrider.validate_retry_policy(policy) → true
--
-- Admin, and the trigger on endpoints. Checks a simple retry policy: fields that are absent come
-- from the settings, null stands for no policy at all. Raises 22023 with the field's path, the rule
-- and the bound, and 0A000 for a form that is not supported yet.
create or replace function postrider.validate_retry_policy(policy jsonb)
returns boolean
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    fields constant text[] := array[
        'max_retries', 'backoff', 'base_delay_seconds', 'max_delay_seconds', 'increment_seconds',
        'jitter'];
    given record;
    minimum integer;
    maximum integer;
    nearest text;
begin
    if policy is null then
        return true;
    end if;
    if jsonb_typeof(policy) <> 'object' then
        raise exception 'retry_policy must be an object' using errcode = '22023';
    end if;

    for given in
        select f.key, f.value, f.value #>> '{}' as word, jsonb_typeof(f.value) as type
        from jsonb_each(policy) f
        order by f.key collate "C"
    loop
        if given.key in ('schedule_seconds', 'preset') then
            raise exception 'retry_policy.% is not supported yet', given.key using errcode = '0A000';
        end if;
        if given.key <> all (fields) then
            select f.name
            into nearest
            from unnest(fields) f (name)
            order by postrider.edit_distance(given.key, f.name), f.name collate "C"
            limit 1;
            raise exception 'retry_policy.% is not a known key (did you mean %?)',
                left(given.key, 64), nearest using errcode = '22023';
        end if;

        minimum := case given.key when 'max_retries' then 0 else 1 end;
        maximum := case given.key
            when 'max_retries' then 1000
            when 'max_delay_seconds' then 86400
            else 3600
        end;
        case given.key
        when 'backoff' then
            if given.type <> 'string' or given.word not in ('exponential', 'linear', 'fixed') then
                raise exception 'retry_policy.backoff must be one of exponential, linear, fixed'
                    using errcode = '22023';
            end if;
        when 'jitter' then
            if given.type <> 'number' then
                raise exception 'retry_policy.jitter must be a number' using errcode = '22023';
            end if;
            if given.word::numeric not between 0 and 1 then
                raise exception 'retry_policy.jitter must be between 0 and 1, got %',
                    left(given.word, 64) using errcode = '22023';
            end if;
        else
            -- 5.0 is not one: the dispatcher would read it as a fraction.
            if given.type <> 'number' or given.word !~ '^-?[0-9]+$' then
                raise exception 'retry_policy.% must be an integer', given.key
                    using errcode = '22023';
            end if;
            if given.word::numeric < minimum or given.word::numeric > maximum then
                raise exception 'retry_policy.% must be between % and %, got %',
                    given.key, minimum, maximum, left(given.word, 64) using errcode = '22023';
            end if;
        end case;
    end loop;
    return true;
end;
$$;
