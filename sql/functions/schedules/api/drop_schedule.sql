-- postrider.drop_schedule(name) → true
--
-- Admin. What it has sent stays sent. Logged in event_log. Raises 22004 (a null name), 42704 (no such schedule).
create or replace function postrider.drop_schedule(p_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    former postrider.schedule := postrider.known_schedule(p_name);
    message postrider.schedule_message;
begin
    delete from postrider.schedule_message m where m.schedule_id = former.id returning m.* into message;
    delete from postrider.schedule s where s.id = former.id;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'schedule.dropped', message.endpoint_name,
        jsonb_build_object(
            'schedule', p_name, 'id', former.id, 'by', session_user, 'after', null,
            'before', postrider.describe_schedule(former, message)));
    return true;
end;
$$;
