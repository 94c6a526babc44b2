-- postrider.check_key_pause(name, pause)
--
-- Internal. Raises 22004 (a null) or 22023 unless the time for which a key goes on signing is 0 to 30 days.
create or replace function postrider.check_key_pause(p_name text, p_pause interval)
returns void
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_pause is null then
        raise exception '% must not be null', p_name using errcode = '22004';
    end if;
    perform postrider.check_duration(p_name, p_pause, '0 seconds', '30 days');
end;
$$;
