-- postrider.is_foreign() → whether this database's transaction ids are behind those in the log
--
-- Internal. True after a dump was restored, or the log was replicated, into a cluster with a lower
-- transaction counter: what is committed here can then not be below the snapshot's end. Uses
-- message_xid_id, checkpoint_seq, tick_id, execution_end_xid and execution_dead_letter_xid, from their
-- ends, and consumer_position_newest.
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
            > pg_snapshot_xmax(pg_current_snapshot()), false)
        or coalesce(
            (select t.xid from postrider.tick t order by t.id desc limit 1)
            >= pg_snapshot_xmax(pg_current_snapshot()), false)
        or coalesce(
            (select e.xid from postrider.execution_end e order by e.xid desc limit 1)
            >= pg_snapshot_xmax(pg_current_snapshot()), false)
        or coalesce(
            (select d.xid from postrider.execution_dead_letter d order by d.xid desc limit 1)
            >= pg_snapshot_xmax(pg_current_snapshot()), false)
        or exists (
            select
            from postrider.execution_rollup r
            where r.horizon > pg_snapshot_xmax(pg_current_snapshot())
        )
        or exists (
            select
            from postrider.consumer c
            cross join lateral generate_series(0, c.partition_count - 1) g (partition)
            cross join lateral postrider.newest_position(c.id, g.partition) p
            where p.xid > pg_snapshot_xmax(pg_current_snapshot())
            or pg_snapshot_xmax(c.start_snapshot) > pg_snapshot_xmax(pg_current_snapshot())
        );
$$;
