-- postrider.local_time_reached(local_time, time_zone) → when the clocks of a time zone first show so much or more
--
-- Internal. Of a time that comes twice, when clocks are set back, the first; of one that never comes, when they are set
-- forward, the moment at which they are.
create or replace function postrider.local_time_reached(p_local timestamp, p_time_zone text)
returns timestamptz
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    -- PostgreSQL takes the second of two, and of none the one by the clock of before.
    reached timestamptz := p_local at time zone p_time_zone;
    day_before timestamptz := reached - interval '24 hours';
    earlier timestamptz;
    -- In seconds before `reached`: too early, and not too early.
    too_early integer := 48 * 3600;
    late_enough integer := 0;
    middle integer;
begin
    if reached at time zone p_time_zone = p_local then
        earlier := reached
            - ((day_before at time zone p_time_zone) - (day_before at time zone 'UTC')
                - (p_local - (reached at time zone 'UTC')));
        if earlier < reached and earlier at time zone p_time_zone = p_local then
            return earlier;
        end if;
        return reached;
    end if;
    while too_early - late_enough > 1 loop
        middle := (too_early + late_enough) / 2;
        if (reached - make_interval(secs => middle)) at time zone p_time_zone < p_local then
            too_early := middle;
        else
            late_enough := middle;
        end if;
    end loop;
    return reached - make_interval(secs => late_enough);
end;
$$;
