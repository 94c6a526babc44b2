-- postrider.parse_cron(cron) → what each field allows
--
-- Internal. Five fields: minute, hour, day of month, month, day of week; or @yearly, @annually, @monthly, @weekly, @daily,
-- @midnight, @hourly. A day of month may be L, the last one; a day of week 5#2, the second Friday of a month, or 5L, the last
-- one: `weekday_places` has these as ten times the weekday, and the place, 9 for the last. Two things are told by whether
-- there is a * in a field, as cron does: `is_fixed`, neither a * nor a step in minute and hour, the times are times of the day and no
-- interval; `needs_both`, one in one of the fields of days, so that the other one alone decides. Raises 22023.
create or replace function postrider.parse_cron(
    p_cron text,
    out minutes integer[],
    out hours integer[],
    out days integer[],
    out has_last_day boolean,
    out months integer[],
    out weekdays integer[],
    out weekday_places integer[],
    out is_fixed boolean,
    out needs_both boolean)
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    weekday_names constant text[] := '{sun,mon,tue,wed,thu,fri,sat}';
    month_names constant text[] := '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}';
    special constant text := '^([0-7]|sun|mon|tue|wed|thu|fri|sat)(#[1-5]|l)$';
    cron text := lower(btrim(p_cron));
    fields text[];
    item text;
    plain text;
begin
    cron := case cron
        when '@yearly' then '0 0 1 1 *'
        when '@annually' then '0 0 1 1 *'
        when '@monthly' then '0 0 1 * *'
        when '@weekly' then '0 0 * * 0'
        when '@daily' then '0 0 * * *'
        when '@midnight' then '0 0 * * *'
        when '@hourly' then '0 * * * *'
        else cron
    end;
    fields := regexp_split_to_array(cron, '\s+');
    if length(p_cron) > 250 or cardinality(fields) <> 5 then
        raise exception
            'p_timing must be ''every '' and an interval, a cron expression of five fields in at most 250 characters, or @yearly, @monthly, @weekly, @daily or @hourly, got ''%''',
            left(p_cron, 100) using errcode = '22023';
    end if;
    minutes := postrider.cron_field(fields[1], 'minute', 0, 59);
    hours := postrider.cron_field(fields[2], 'hour', 0, 23);
    months := postrider.cron_field(fields[4], 'month', 1, 12, month_names);

    plain := array_to_string(array_remove(string_to_array(fields[3], ','), 'l'), ',');
    has_last_day := plain <> fields[3];
    days := case
        when plain = '' and has_last_day then '{}'
        else postrider.cron_field(plain, 'day of month', 1, 31)
    end;

    weekday_places := '{}';
    plain := null;
    foreach item in array string_to_array(fields[5], ',') loop
        if item ~ special then
            weekday_places := weekday_places || (
                10 * (coalesce(
                    array_position(weekday_names, substring(item from '^[a-z]{3}')) - 1,
                    substring(item from '^\d')::integer % 7))
                + coalesce(substring(item from '#(\d)')::integer, 9));
        else
            plain := concat_ws(',', plain, item);
        end if;
    end loop;
    weekdays := case
        when plain is null and weekday_places <> '{}' then '{}'
        else array(
            select distinct v.value % 7
            from unnest(postrider.cron_field(
                coalesce(plain, ''), 'day of week', 0, 7, weekday_names)) v (value)
        )
    end;
    is_fixed := fields[1] || fields[2] !~ '[*/]';
    needs_both := strpos(fields[3], '*') > 0 or strpos(fields[5], '*') > 0;
end;
$$;
