-- postrider.resume_all() → how many endpoints were resumed, and the names of those that are not
--
-- Operator, admin. Resumes what pause_all has paused, and nothing else: an endpoint that was paused by itself before
-- or since stays paused. Waits no longer than a second for endpoints that somebody else has locked: those are named,
-- and called again for. Each is logged in event_log, and the call.
create or replace function postrider.resume_all(out resumed_count bigint, out held text[])
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select s.switched_count, s.held from postrider.switch_all_endpoints(false) s;
$$;
