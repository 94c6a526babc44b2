-- postrider.cleanup_old_archive_partitions(retention_months) → how many partitions were dropped
--
-- Admin, and a dispatcher once a minute if there is something to drop, with archive_retention_months.
-- Drops partitions that ended so many months ago: of the log those without an unfinished message that all
-- consumers have read (or that ended consumer_retention days ago), and of what is recorded (done,
-- partly_done, ended, attempt, tick) those that no message left in the log can need.
-- The oldest first, and at most six of the log in one call, so that the locks are short. 0 while
-- somebody else is at it, or while a transaction keeps the log locked; event_log says so once a day.
-- Raises 22023 and 25001. Its transaction has to end soon, see hurry_transaction.
create or replace function postrider.cleanup_old_archive_partitions(
    p_retention_months integer default 6)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    dropped constant integer := postrider.drop_old_partitions(p_retention_months);
begin
    perform postrider.hurry_transaction();
    return dropped;
end;
$$;
