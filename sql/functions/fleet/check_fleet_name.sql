-- postrider.check_fleet_name(parameter, name, most)
--
-- Internal. The rule for names of actions, workers and pools; null passes. Raises 22023.
create or replace function postrider.check_fleet_name(
    p_parameter text, p_name text, p_most integer)
returns void
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]*$' or length(p_name) > p_most then
        raise exception
            '% must be 1 to % letters, digits, _ . : or -, the first a letter or digit, got ''%''',
            p_parameter, p_most, left(p_name, 200) using errcode = '22023';
    end if;
end;
$$;
