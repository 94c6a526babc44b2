-- postrider.foreign_sign() → what shows that this log was written by another database, or by this one in a time that
-- was undone; null when nothing does
--
-- Internal, by dispatchers before they deliver, by adopt and by health_check. Either this is another database than
-- the one that wrote the log; or something in it is ahead of this cluster's transaction ids, which what is committed
-- here can never be; or of the sequences that number it. Looks at every place that holds such a number, of all
-- shards. STABLE, so that all is seen by one snapshot. Uses message_xid_id, message_id, checkpoint_seq, heartbeat_xid,
-- tick_id, execution_end_xid, execution_dead_letter_xid, from their ends, and consumer_position_newest.
create or replace function postrider.foreign_sign()
returns text
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    seen_up_to constant xid8 := pg_snapshot_xmax(pg_current_snapshot());
    -- What this transaction has written itself is seen, too.
    own constant xid8 := coalesce(pg_current_xact_id_if_assigned(), '0');
    known record;
    found_sign text;
begin
    select
        i.database_oid, i.relation_oid, i.system_identifier, i.mark = i.xmin as is_same_row
    into known
    from postrider.identity i;
    if postrider.is_copy() then
        return format(
            'it was written by another database (oid %s, table %s) than this one (oid %s, table %s)',
            coalesce(known.database_oid::text, 'unknown'), coalesce(known.relation_oid::text, 'unknown'),
            (select d.oid from pg_database d where d.datname = current_database()),
            'postrider.identity'::regclass::oid);
    end if;
    -- pg_upgrade takes the files along, and with them the row as it was written.
    if known.system_identifier <> postrider.system_identifier() and known.is_same_row is distinct from true then
        return format(
            'it was written in another cluster (system identifier %s) than this one (%s)',
            known.system_identifier, postrider.system_identifier());
    end if;

    select format(
        '%s is at transaction %s, and this cluster has only come to %s', p.place, p.xid,
        ((seen_up_to::text)::bigint - 1))
    into found_sign
    from (
        select 'the newest message' as place, m.xid, 0 as is_end
        from (
            select m.xid
            from postrider.message m
            where m.xid >= seen_up_to
            and m.xid <> own
            order by m.xid desc
            limit 1
        ) m
        union all
        -- Every snapshot in the state of every lane ends with its second number. One checkpoint is about many shards.
        select 'shard ' || c.shard, p.xid, 1
        from (
            select distinct on (newest.seq) newest.seq, s.shard, newest.done_xmin, newest.state
            from postrider.shard s
            cross join lateral (
                select k.seq, k.done_xmin, k.state
                from postrider.checkpoint k
                where k.shards @> array[s.shard]
                order by k.seq desc
                limit 1
            ) newest
            order by newest.seq, s.shard
        ) c
        cross join lateral (
            select c.done_xmin
            union all
            select split_part(v.value #>> '{}', ':', 2)::xid8
            from jsonb_path_query(
                c.state, 'strict $.** ? (@.type() == "string" && @ like_regex "^[0-9]+:[0-9]+:")') v (value)
        ) p (xid)
        union all
        select 'a heartbeat', h.xid, 0
        from (
            select h.xid
            from postrider.heartbeat h
            where h.xid >= seen_up_to
            and h.xid <> own
            order by h.xid desc
            limit 1
        ) h
        union all
        select 'the newest tick', t.xid, 0
        from (select t.xid from postrider.tick t order by t.id desc limit 1) t
        union all
        select 'the snapshot of the newest tick', pg_snapshot_xmax(t.snapshot), 1
        from (select t.snapshot from postrider.tick t order by t.id desc limit 1) t
        union all
        select format('consumer %s', c.name), p.xid, 1
        from postrider.consumer c
        cross join lateral generate_series(0, c.partition_count - 1) g (partition)
        cross join lateral postrider.newest_position(c.id, g.partition) p
        union all
        select format('the start of consumer %s', c.name), pg_snapshot_xmax(c.start_snapshot), 1
        from postrider.consumer c
        union all
        select 'the newest end of an execution', e.xid, 0
        from (
            select e.xid
            from postrider.execution_end e
            where e.xid >= seen_up_to
            and e.xid <> own
            order by e.xid desc
            limit 1
        ) e
        union all
        select 'the newest dead letter of an execution', d.xid, 0
        from (
            select d.xid
            from postrider.execution_dead_letter d
            where d.xid >= seen_up_to
            and d.xid <> own
            order by d.xid desc
            limit 1
        ) d
        union all
        select 'the horizon of the figures of executions', r.horizon, 1
        from postrider.execution_rollup r
    ) p (place, xid, is_end)
    -- A place that is an end is behind the last transaction it speaks of.
    where (p.xid > seen_up_to or p.xid = seen_up_to and p.is_end = 0)
    and p.xid <> own
    order by p.xid desc
    limit 1;
    if found_sign is not null then
        return found_sign;
    end if;

    select format(
        '%s has the number %s, and %s has only come to %s', n.place, n.number, n.sequence, n.last_value)
    into found_sign
    from (
        select 'message ' || m.id, m.id >> 10, 'message_sequence', s.last_value
        from (select m.id from postrider.message m order by m.id desc limit 1) m
        cross join postrider.message_sequence s
        union all
        select 'a checkpoint', c.seq, 'rotation_sequence', s.last_value
        from (select c.seq from postrider.checkpoint c order by c.seq desc limit 1) c
        cross join postrider.rotation_sequence s
    ) n (place, number, sequence, last_value)
    where n.number > n.last_value
    limit 1;
    return found_sign;
end;
$$;
