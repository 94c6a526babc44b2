-- postrider.cleanup_event_log() → how many were removed
--
-- Operator, admin. Removes rows of event_log that are older than event_log_retention_days, 10,000 at most; every
-- dispatcher does so once a minute. Waits for nobody: see forget_events.
create or replace function postrider.cleanup_event_log()
returns integer
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select postrider.forget_events(10000);
$$;
