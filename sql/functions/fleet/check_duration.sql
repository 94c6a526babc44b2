-- postrider.check_duration(parameter, duration, least, most)
--
-- Internal. Null passes; least and most are in words that are an interval, too. Raises 22023.
create or replace function postrider.check_duration(
    p_parameter text, p_duration interval, p_least text, p_most text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_duration not between p_least::interval and p_most::interval then
        raise exception '% must be between % and %, got %', p_parameter, p_least, p_most, p_duration
            using errcode = '22023';
    end if;
end;
$$;
