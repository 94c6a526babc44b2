-- postrider.next_cron_day(cron, from) → the first day on which a parsed cron expression fires, from this one on
--
-- Internal. Null: none in 41 years. That is as far apart as a 29th of February on a Sunday is from the next one.
create or replace function postrider.next_cron_day(
    p_days integer[],
    p_has_last_day boolean,
    p_months integer[],
    p_weekdays integer[],
    p_weekday_places integer[],
    p_needs_both boolean,
    p_from date)
returns date
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    month_start date := date_trunc('month', p_from::timestamp)::date;
    day date := p_from;
    next_month date;
    weekday integer;
    is_day boolean;
    is_weekday boolean;
begin
    for turn in 0..41 * 12 loop
        next_month := (month_start + interval '1 month')::date;
        if extract(month from month_start)::integer = any (p_months) then
            while day < next_month loop
                weekday := extract(dow from day)::integer;
                is_day := day - month_start + 1 = any (p_days)
                    or p_has_last_day and day + 1 = next_month;
                is_weekday := weekday = any (p_weekdays)
                    or weekday * 10 + (day - month_start) / 7 + 1 = any (p_weekday_places)
                    or day + 7 >= next_month and weekday * 10 + 9 = any (p_weekday_places);
                if is_day and is_weekday or not p_needs_both and (is_day or is_weekday) then
                    return day;
                end if;
                day := day + 1;
            end loop;
        end if;
        month_start := next_month;
        day := next_month;
    end loop;
    return null;
end;
$$;
