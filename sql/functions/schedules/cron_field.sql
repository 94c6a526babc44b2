-- postrider.cron_field(text, field, lowest, highest, names) → the values of one field of a cron expression, in order
--
-- Internal. A list of values, ranges and `*`, the last two with a step. Names stand for the values from the lowest on.
-- Raises 22023 with the field, the rule and the bounds.
create or replace function postrider.cron_field(
    p_text text, p_field text, p_lowest integer, p_highest integer, p_names text[] default '{}')
returns integer[]
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    item text;
    parts text[];
    first integer;
    last integer;
    step integer;
    found_values integer[] := '{}';
begin
    foreach item in array string_to_array(p_text, ',') loop
        parts := regexp_match(
            lower(item), '^(\*|\d{1,2}|[a-z]{3})(?:-(\d{1,2}|[a-z]{3}))?(?:/(\d{1,2}))?$');
        if parts is null or parts[1] = '*' and parts[2] is not null
            or parts[3] is not null and parts[1] <> '*' and parts[2] is null
        then
            raise exception
                'p_timing: % must be a list of values, ranges (a-b), *, and steps (*/n, a-b/n), got ''%''',
                p_field, left(item, 50) using errcode = '22023';
        end if;
        first := case
            when parts[1] = '*' then p_lowest
            when parts[1] ~ '^\d' then parts[1]::integer
            else array_position(p_names, parts[1]) - 1 + p_lowest
        end;
        last := case
            when parts[1] = '*' then p_highest
            when parts[2] is null then first
            when parts[2] ~ '^\d' then parts[2]::integer
            else array_position(p_names, parts[2]) - 1 + p_lowest
        end;
        -- Sunday ends a week, too.
        if parts[2] = 'sun' and first > 0 then
            last := 7;
        end if;
        step := coalesce(parts[3]::integer, 1);
        if first is null or last is null or first < p_lowest or last > p_highest or first > last
            or step = 0
        then
            raise exception 'p_timing: % must lie between % and %, in rising order, with steps from 1 on, got ''%''',
                p_field, p_lowest, p_highest, left(item, 50) using errcode = '22023';
        end if;
        found_values := found_values || array(select generate_series(first, last, step));
    end loop;
    return array(select distinct v.value from unnest(found_values) v (value) order by v.value);
end;
$$;
