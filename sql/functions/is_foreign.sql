-- postrider.is_foreign() → whether this database's transaction ids are behind those in the log
--
-- Internal. True after a dump was restored, or the log was replicated, into a cluster with a lower
-- transaction counter: what is committed here can then not be below the snapshot's end. Uses
-- message_xid_id and checkpoint_seq, from their ends.
create or replace function postrider.is_foreign()
returns boolean
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        coalesce(
            (select m.xid from postrider.message m order by m.xid desc limit 1)
            >= pg_snapshot_xmax(pg_current_snapshot()), false)
        or coalesce(
            (select c.done_xmin from postrider.checkpoint c order by c.seq desc limit 1)
            > pg_snapshot_xmax(pg_current_snapshot()), false);
$$;
