-- postrider.is_partition_finished(name, from, to, done_before) → whether no message in it is unfinished
--
-- Internal: cleanup_old_archive_partitions. Of a partition of the log with these bounds; done_before is
-- what the function of that name says. Uses message_xid_id and message_id of the partition, deferred_pkey.
create or replace function postrider.is_partition_finished(
    p_name text, p_from timestamptz, p_to timestamptz, p_done_before xid8)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    newest xid8;
    first_id bigint;
    last_id bigint;
begin
    execute format(
        $sql$
        select
            (select m.xid from postrider.%1$I m order by m.xid desc limit 1),
            (select min(m.id) from postrider.%1$I m),
            (select max(m.id) from postrider.%1$I m)
        $sql$,
        p_name)
    into newest, first_id, last_id;
    return newest is null
        or newest < p_done_before
        and not exists (
            select
            from postrider.deferred d
            where d.message_id between first_id and last_id
            and d.message_created_at >= p_from
            and d.message_created_at < p_to
        );
end;
$$;
