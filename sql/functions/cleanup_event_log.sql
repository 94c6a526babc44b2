-- postrider.cleanup_event_log() → how many were removed
--
-- Admin. Removes rows of event_log that are older than event_log_retention_days, 10,000 at a time; every
-- dispatcher does so once a minute. Waits for nobody: see forget_events.
create or replace function postrider.cleanup_event_log()
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    batch_size constant integer := 10000;
    batch integer;
    removed integer := 0;
begin
    loop
        batch := postrider.forget_events(batch_size);
        removed := removed + batch;
        exit when batch < batch_size;
    end loop;
    return removed;
end;
$$;
