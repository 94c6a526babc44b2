-- postrider.cleanup_dlq() → how many were removed
--
-- Operator, admin. Removes dead letters that are older than dlq_retention_days, 10,000 at most; every
-- dispatcher does so once a minute. Waits for nobody: see forget_dead_letters.
create or replace function postrider.cleanup_dlq()
returns integer
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select postrider.forget_dead_letters(10000);
$$;
