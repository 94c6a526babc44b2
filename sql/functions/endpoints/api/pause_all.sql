-- postrider.pause_all() → how many endpoints were paused, and the names of those that are not
--
-- Operator, admin. Pauses every endpoint that is not paused (pause_endpoint), and remembers which those are, for
-- resume_all. An endpoint that is made afterwards is not paused. Waits no longer than a second for endpoints that
-- somebody else has locked: those are named, and called again for. Each is logged in event_log, and the call.
create or replace function postrider.pause_all(out paused_count bigint, out held text[])
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select s.switched_count, s.held from postrider.switch_all_endpoints(true) s;
$$;
