-- postrider.reset_setting(name) → the default, which is its value now
--
-- Admin. See set_setting. Raises 22004 (a null name), 42704 (no such setting), 22023 (the default does not
-- go with another setting).
create or replace function postrider.reset_setting(name text)
returns text
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    found_value text;
begin
    if reset_setting.name is null then
        raise exception 'Setting name must not be null' using errcode = '22004';
    end if;
    select s.default_value
    into found_value
    from postrider.setting s
    where s.name = reset_setting.name;
    if found_value is null then
        raise exception 'Setting ''%'' does not exist', reset_setting.name using errcode = '42704';
    end if;
    return postrider.set_setting(reset_setting.name, found_value);
end;
$$;
