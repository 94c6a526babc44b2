-- postrider.pause_schedule(name) → whether that changed anything
--
-- Operator, admin. It does not fire until it is resumed; what would have been due meanwhile is not missed, and is not sent
-- later. Logged in event_log. Raises 22004 (a null name), 42704 (no such schedule).
create or replace function postrider.pause_schedule(p_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.schedule := postrider.known_schedule(p_name);
begin
    if known.paused_at is not null then
        return false;
    end if;
    update postrider.schedule s set paused_at = clock_timestamp() where s.id = known.id;
    insert into postrider.event_log (event, details)
    values (
        'schedule.paused',
        jsonb_build_object(
            'schedule', p_name, 'by', session_user, 'before', jsonb_build_object('paused', false),
            'after', jsonb_build_object('paused', true)));
    return true;
end;
$$;
