-- postrider.announce_event_type()
--
-- Internal: the trigger after every change of an event type, whoever writes. Logs in event_log what an
-- update has changed, and wakes the dispatchers when the retry policy is another one.
create or replace function postrider.announce_event_type()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    old_policy jsonb := case when tg_op <> 'INSERT' then old.metadata -> '_retry_policy' end;
    new_policy jsonb := case when tg_op <> 'DELETE' then new.metadata -> '_retry_policy' end;
begin
    if tg_op = 'UPDATE' and new is distinct from old then
        insert into postrider.event_log (event, details)
        values (
            'event_type.altered',
            jsonb_build_object('event_type', new.name, 'id', new.id, 'by', session_user)
            || postrider.changes_between(to_jsonb(old), to_jsonb(new)));
    end if;
    if new_policy is distinct from old_policy then
        perform postrider.ring('postrider', 'settings');
    end if;
    return null;
end;
$$;

create or replace trigger announce
after insert or update or delete on postrider.event_types
for each row execute function postrider.announce_event_type();
