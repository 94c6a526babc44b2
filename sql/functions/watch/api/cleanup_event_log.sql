-- postrider.cleanup_event_log() → how many were removed
--
-- Operator, admin. Removes rows of event_log that are older than event_log_retention_days, 10,000 at most; every
-- dispatcher does so once a minute. Waits for nobody: see forget_events.
-- event_log says who did it by hand, if there was something to remove.
create or replace function postrider.cleanup_event_log()
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    removed integer := postrider.forget_events(10000);
begin
    if removed > 0 then
        insert into postrider.event_log (event, details)
        values ('event_log.cleaned_up', jsonb_build_object('count', removed, 'by', session_user));
    end if;
    return removed;
end;
$$;
