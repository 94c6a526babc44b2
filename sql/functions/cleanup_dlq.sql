-- postrider.cleanup_dlq() → how many were removed
--
-- Admin. Removes dead letters that are older than dlq_retention_days, 10,000 at a time; every
-- dispatcher does so once a minute. Waits for nobody: see forget_dead_letters.
create or replace function postrider.cleanup_dlq()
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
        batch := postrider.forget_dead_letters(batch_size);
        removed := removed + batch;
        exit when batch < batch_size;
    end loop;
    return removed;
end;
$$;
