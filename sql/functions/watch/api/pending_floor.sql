-- postrider.pending_floor() → an id below which no message of the log is unfinished; 0 when unknown
--
-- Application, operator, admin, monitor: the view queue calls it. What lies below was delivered, has ended, or
-- waits in postrider.deferred. A transaction with a higher id than a heartbeat's takes numbers above
-- its sequence_floor only, and what is unfinished was written at or after done_before. Uses
-- heartbeat_xid.
create or replace function postrider.pending_floor()
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    since xid8 := postrider.done_before();
begin
    return coalesce(
        (
            select (h.sequence_floor << 10) | 1023
            from postrider.heartbeat h
            where h.xid < since
            order by h.xid desc
            limit 1
        ), 0);
end;
$$;
