-- postrider.cleanup_dlq() → how many were removed
--
-- Operator, admin. Removes dead letters that are older than dlq_retention_days, 10,000 at most; every
-- dispatcher does so once a minute. Waits for nobody: see forget_dead_letters.
-- event_log says who did it by hand, if there was something to remove.
create or replace function postrider.cleanup_dlq()
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    removed integer := postrider.forget_dead_letters(10000);
begin
    if removed > 0 then
        insert into postrider.event_log (event, details)
        values ('dlq.cleaned_up', jsonb_build_object('count', removed, 'by', session_user));
    end if;
    return removed;
end;
$$;
