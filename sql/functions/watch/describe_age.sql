-- postrider.describe_age(seconds) → how long that is, for people: `12 s`, `7 min`, `3 h`, `5 days`
--
-- Internal.
create or replace function postrider.describe_age(p_seconds double precision)
returns text
language sql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select case
        when p_seconds < 120 then format('%s s', round(p_seconds::numeric, (p_seconds < 10)::integer))
        when p_seconds < 7200 then format('%s min', floor(p_seconds / 60))
        when p_seconds < 172800 then format('%s h', floor(p_seconds / 3600))
        else format('%s days', floor(p_seconds / 86400))
    end;
$$;
