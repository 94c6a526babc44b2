-- postrider.timing_interval(timing) → the interval of `every …`; null: it is a cron expression
--
-- Internal. Raises 22023 for what is neither more nor less than a number of seconds, from 1 second to 366 days.
create or replace function postrider.timing_interval(p_timing text)
returns interval
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
set intervalstyle = 'postgres'
as $$
declare
    given text := substring(p_timing from '^\s*[Ee][Vv][Ee][Rr][Yy]\s+(.*)$');
    every interval;
begin
    if given is null then
        return null;
    end if;
    if length(given) <= 100 then
        begin
            every := given::interval;
        exception
            when data_exception then null;
        end;
    end if;
    if every is null or extract(year from every) <> 0 or extract(month from every) <> 0
        or extract(epoch from every) <> floor(extract(epoch from every))
        or extract(epoch from every) not between 1 and 366 * 86400
    then
        raise exception
            'p_timing: ''every'' must be followed by an interval of whole seconds from 1 second to 366 days, without months, got ''%''',
            left(given, 100) using errcode = '22023';
    end if;
    -- 1 day is 24 hours.
    return make_interval(secs => extract(epoch from every)::double precision);
end;
$$;
