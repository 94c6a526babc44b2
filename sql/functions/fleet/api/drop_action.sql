-- postrider.drop_action(name) → whether there was one
--
-- Admin. Its executions have the defaults from then on, and no limit. Logged in event_log. Raises 22004 (a
-- null name).
create or replace function postrider.drop_action(p_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    former jsonb;
begin
    if p_name is null then
        raise exception 'Action must not be null' using errcode = '22004';
    end if;
    delete from postrider.action a
    where a.name = p_name
    returning to_jsonb(a) - 'id' into former;
    if not found then
        return false;
    end if;
    insert into postrider.event_log (event, details)
    values (
        'action.dropped',
        jsonb_build_object('action', p_name, 'by', session_user, 'before', former, 'after', null));
    return true;
end;
$$;
