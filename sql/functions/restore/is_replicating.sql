-- postrider.is_replicating() → whether this session writes rows as another database has them
--
-- Internal, by triggers that also fire where session_replication_role turns others off (enable always): they check
-- what somebody writes here with that setting, and let pass what logical replication brings. That was checked where it
-- was written, and this is a copy of it, which delivers nothing before it is adopted.
create or replace function postrider.is_replicating()
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return current_setting('session_replication_role') = 'replica' and postrider.is_copy();
end;
$$;
