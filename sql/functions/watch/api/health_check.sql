-- postrider.health_check() → how every part of the service does: healthy, degraded or unhealthy
--
-- Operator, admin, monitor. One row per component, always the same eleven in the same order, with a sentence for
-- people. Never fails: what cannot be checked is unhealthy, and says why. The thresholds are those of
-- the functions that it calls.
create or replace function postrider.health_check()
returns table (component text, status text, details text, checked_at timestamptz)
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '500ms'
set jit = off
as $$
declare
    checks constant text[][] := array[
        array['dispatchers', 'check_dispatchers'],
        array['shards', 'check_shards'],
        array['partitions', 'check_partitions'],
        array['lag', 'check_lag'],
        array['clock', 'check_clock'],
        array['oldest transaction', 'check_transactions'],
        array['locks', 'check_locks'],
        array['consumers', 'check_consumers'],
        array['fleets', 'check_fleets'],
        array['failovers', 'check_failovers'],
        array['schedules', 'check_schedules']];
    pair text[];
begin
    foreach pair slice 1 in array checks loop
        component := pair[1];
        begin
            execute format('select c.status, c.details from postrider.%I() c', pair[2])
            into strict status, details;
        exception
            when others then
                status := 'unhealthy';
                details := 'could not be checked: ' || sqlerrm;
        end;
        checked_at := clock_timestamp();
        return next;
    end loop;
end;
$$;
