-- postrider.has_read_partition(consumer, name) → whether a consumer needs nothing of a partition of the log
--
-- Internal: cleanup_old_archive_partitions and retention_holders. Whether each message in it lies before
-- the consumer's position, or is none that it reads. What is in no tick yet is unread. Looks at so many
-- messages behind the position, and takes the rest for wanted when it wants none of these. Uses tick_id,
-- message_xid_id and message_id of the partition.
create or replace function postrider.has_read_partition(p_consumer postrider.consumer, p_name text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
declare
    look constant integer := 100000;
    last_id constant bigint := 9223372036854775807;
    known postrider.consumer_position;
    latest postrider.tick;
    is_needed boolean;
begin
    for k in 0..p_consumer.partition_count - 1 loop
        select p.* into known from postrider.newest_position(p_consumer.id, k) p;
        if known.xid is not null then
            execute format(
                $sql$
                with behind as (
                    select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
                    from postrider.%I m
                    where (m.xid, m.id) > ($3, $4)
                    order by m.xid, m.id
                    limit $5
                )
                select
                    exists (
                        select
                        from behind b
                        where postrider.is_wanted(
                            $1, $2, b.id, b.xid, b.created_at, b.event_type, b.ordering_key, b.payload)
                    )
                    or exists (select from behind b offset $5 - 1)
                $sql$,
                p_name)
            into is_needed
            using p_consumer, k, known.xid, known.message_id, look;
        else
            -- What came before a tick that is gone is gone, too.
            select t.*
            into latest
            from postrider.tick t
            where t.id <= known.tick
            order by t.id desc
            limit 1;
            execute format(
                $sql$
                with behind as (
                    (
                        select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
                        from postrider.%1$I m
                        where m.xid >= $3
                        order by m.xid
                        limit $7
                    )
                    union all
                    (
                        select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
                        from pg_snapshot_xip($4) x (xid)
                        cross join lateral (
                            select l.id, l.xid, l.created_at, l.event_type, l.ordering_key, l.payload
                            from postrider.%1$I l
                            where l.xid = x.xid
                            limit $7
                        ) m
                    )
                    union all
                    (
                        select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
                        from postrider.%1$I m
                        where m.id > $5
                        and (m.xid >= $6 or m.xid = any ($8))
                        and pg_visible_in_snapshot(m.xid, $4)
                        order by m.id
                        limit $7
                    )
                )
                select
                    exists (
                        select
                        from behind b
                        where postrider.is_wanted(
                            $1, $2, b.id, b.xid, b.created_at, b.event_type, b.ordering_key, b.payload)
                    )
                    or exists (select from behind b offset $7 - 1)
                $sql$,
                p_name)
            into is_needed
            using
                p_consumer, k, coalesce(pg_snapshot_xmax(latest.snapshot), '0'),
                coalesce(latest.snapshot, '3:3:'),
                -- The rest of a tick that is read in part.
                case when latest.id = known.tick then known.message_id else last_id end,
                latest.base_xmax, look, latest.stragglers;
        end if;
        if is_needed then
            return false;
        end if;
    end loop;
    return true;
end;
$$;
