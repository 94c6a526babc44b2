-- postrider.resume_schedule(name) → whether that changed anything
--
-- Operator, admin. Its next firing is the first one from now on. Logged in event_log. Raises 22004 (a null name), 42704 (no
-- such schedule).
create or replace function postrider.resume_schedule(p_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.schedule := postrider.known_schedule(p_name);
begin
    if known.paused_at is null then
        return false;
    end if;
    update postrider.schedule s
    set paused_at = null,
        retry_at = null,
        -- By this a clock that is set back is known (fire_schedules).
        tried_at = clock_timestamp(),
        next_at = coalesce(
            postrider.next_firing(
                known.timing, known.every, known.anchor, known.time_zone, clock_timestamp()),
            'infinity')
    where s.id = known.id;
    insert into postrider.event_log (event, details)
    values (
        'schedule.resumed',
        jsonb_build_object(
            'schedule', p_name, 'by', session_user, 'before', jsonb_build_object('paused', true),
            'after', jsonb_build_object('paused', false)));
    return true;
end;
$$;
