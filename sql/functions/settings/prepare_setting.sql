-- postrider.prepare_setting()
--
-- Internal: the trigger before every insert and update of a setting, whoever writes, also where
-- session_replication_role turns other triggers off (see is_replicating): check_setting, as in set_setting.
-- Where the default itself is new or another one, as after a migrate, a value that is the default is not checked:
-- check_setting may still be that of the version before.
create or replace function postrider.prepare_setting()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if postrider.is_replicating() then
        return new;
    end if;
    if tg_op = 'UPDATE' and new.name <> old.name then
        raise exception 'Setting ''%'' cannot be called otherwise', old.name using errcode = '22023';
    end if;
    if new.value is null then
        raise exception 'Setting name and value must not be null' using errcode = '22004';
    end if;
    if tg_op = 'INSERT' then
        if new.value <> new.default_value then
            new.value := postrider.check_setting(new, new.value);
        end if;
    elsif new.value <> old.value
        and (new.value <> new.default_value or new.default_value = old.default_value)
    then
        new.value := postrider.check_setting(new, new.value);
    end if;
    return new;
end;
$$;

create or replace trigger prepare
before insert or update on postrider.setting
for each row execute function postrider.prepare_setting();

-- Replaced, a trigger fires as others do until this says otherwise.
alter table postrider.setting enable always trigger prepare;
