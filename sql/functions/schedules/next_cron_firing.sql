-- postrider.next_cron_firing(cron, time_zone, after) → when a cron expression fires next, later than that
--
-- Internal. Null: not in 41 years. Times of the day (`is_fixed`) come once where clocks are set: of those that come twice
-- the first counts, and those that are left out come at the moment at which clocks are set forward, once for all of them.
-- With a * in minute or hour, the expression is about what clocks show: what they leave out does not come, and what they
-- show twice comes twice. Raises 22023 (an expression or a time zone that is none).
create or replace function postrider.next_cron_firing(
    p_cron text, p_time_zone text, p_after timestamptz)
returns timestamptz
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    one_minute constant interval := '1 minute';
    cron constant record := postrider.parse_cron(p_cron);
    after_local constant timestamp := p_after at time zone p_time_zone;
    day date := after_local::date;
    matched date;
    minute_of_day integer;
    at timestamptz;
    shown timestamp;
    step interval;
begin
    if cron.is_fixed then
        loop
            day := postrider.next_cron_day(
                cron.days, cron.has_last_day, cron.months, cron.weekdays, cron.weekday_places,
                cron.needs_both, day);
            if day is null then
                return null;
            end if;
            for minute_of_day in
                select h.hour * 60 + m.minute
                from unnest(cron.hours) h (hour)
                cross join unnest(cron.minutes) m (minute)
                order by 1
            loop
                continue when day + minute_of_day * one_minute <= after_local;
                at := postrider.local_time_reached(day + minute_of_day * one_minute, p_time_zone);
                if at > p_after then
                    return at;
                end if;
            end loop;
            day := day + 1;
        end loop;
    end if;

    at := date_trunc('minute', p_after, 'UTC') + one_minute;
    -- What clocks leave out each year never comes.
    while at < p_after + interval '41 years' loop
        shown := at at time zone p_time_zone;
        day := shown::date;
        if day is distinct from matched then
            matched := postrider.next_cron_day(
                cron.days, cron.has_last_day, cron.months, cron.weekdays, cron.weekday_places,
                cron.needs_both, day);
            if matched is null then
                return null;
            end if;
            if matched > day then
                at := greatest(postrider.local_time_reached(matched, p_time_zone), at + one_minute);
                continue;
            end if;
        end if;
        step := (60 - extract(minute from shown)::integer) * one_minute;
        if extract(hour from shown)::integer = any (cron.hours) then
            select coalesce(min(m.minute - extract(minute from shown)::integer) * one_minute, step)
            into step
            from unnest(cron.minutes) m (minute)
            where m.minute >= extract(minute from shown)::integer;
            if step = interval '0' then
                return at;
            end if;
        end if;
        -- Where clocks are set meanwhile, minute by minute.
        if (at + step) at time zone p_time_zone <> shown + step then
            step := one_minute;
        end if;
        at := at + step;
    end loop;
    return null;
end;
$$;
