-- postrider.maintain_archive_partitions(months_ahead) → how many partitions were created
--
-- Operator, admin. What a dispatcher does once a minute by itself, see make_partitions; event_log says who did it
-- by hand, if something was missing. 0 while somebody else is at it. Raises 22023 and, when a lock is not to be had
-- for some seconds, 55P03. Its transaction has to end soon, see hurry_transaction.
create or replace function postrider.maintain_archive_partitions(p_months_ahead integer default 3)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '1s'
as $$
declare
    created integer := postrider.make_partitions(p_months_ahead);
begin
    if created > 0 then
        insert into postrider.event_log (event, details)
        values ('partitions.made', jsonb_build_object('count', created, 'by', session_user));
    end if;
    perform postrider.hurry_transaction();
    return created;
end;
$$;
