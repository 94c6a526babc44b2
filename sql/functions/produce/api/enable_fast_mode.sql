-- postrider.enable_fast_mode()
--
-- Producer, application, admin. The commit of this transaction does not wait for the disk
-- (synchronous_commit = off): faster, and the last moments before a crash of PostgreSQL may be lost
-- as a whole, messages together with everything else that this transaction wrote.
create or replace function postrider.enable_fast_mode()
returns void
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    perform set_config('synchronous_commit', 'off', true);
end;
$$;
