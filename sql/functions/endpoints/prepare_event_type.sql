-- postrider.prepare_event_type()
--
-- Internal: the trigger before every insert and update of an event type, whoever writes, also where
-- session_replication_role turns other triggers off (see is_replicating). Raises 22023 with the column and the rule
-- when a value is not valid.
create or replace function postrider.prepare_event_type()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if postrider.is_replicating() then
        return new;
    end if;
    if jsonb_typeof(new.schema) not in ('object', 'boolean') then
        raise exception 'schema must be a JSON Schema (an object or a boolean), got %',
            jsonb_typeof(new.schema) using errcode = '22023';
    end if;
    if jsonb_typeof(new.metadata) <> 'object' then
        raise exception 'metadata must be an object, got %', jsonb_typeof(new.metadata)
            using errcode = '22023';
    end if;
    perform postrider.validate_retry_policy(new.metadata -> '_retry_policy');
    return new;
end;
$$;

create or replace trigger prepare
before insert or update on postrider.event_types
for each row execute function postrider.prepare_event_type();

-- Replaced, a trigger fires as others do until this says otherwise.
alter table postrider.event_types enable always trigger prepare;
