-- postrider.open_snapshot() → the present snapshot, in which this transaction is in progress, too
--
-- Internal: append_tick and consumer_start. A snapshot does not list its own transaction as running: what this one has
-- sent and will send would seem to be seen.
create or replace function postrider.open_snapshot()
returns pg_snapshot
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    own constant xid8 := pg_current_xact_id_if_assigned();
    seen constant pg_snapshot := pg_current_snapshot();
begin
    if own is null or not pg_visible_in_snapshot(own, seen) then
        return seen;
    end if;
    return format(
        '%s:%s:%s', least(pg_snapshot_xmin(seen), own), pg_snapshot_xmax(seen), (
            select string_agg(x.xid::text, ',' order by x.xid)
            from (
                select p.xid
                from pg_snapshot_xip(seen) p (xid)
                union
                select own
            ) x
        ));
end;
$$;
