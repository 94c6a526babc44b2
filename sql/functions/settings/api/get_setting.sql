-- postrider.get_setting(name) → its value
--
-- Operator, admin, monitor. Raises 22004 (a null name), 42704 (no such setting).
create or replace function postrider.get_setting(name text)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    found_value text;
begin
    if get_setting.name is null then
        raise exception 'Setting name must not be null' using errcode = '22004';
    end if;
    select s.value into found_value from postrider.setting s where s.name = get_setting.name;
    if found_value is null then
        raise exception 'Setting ''%'' does not exist', get_setting.name using errcode = '42704';
    end if;
    return found_value;
end;
$$;
