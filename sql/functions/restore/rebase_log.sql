-- postrider.rebase_log() → how many unfinished messages there were
--
-- Internal, by adopt, which holds the fence. Brings a log from elsewhere (foreign_sign) into this
-- cluster's transaction ids: finished messages count as written before all others, unfinished ones after
-- them. It changes rows of the log, as nothing else does but erase_logged, and no column that a user wrote.
--
-- For consumers all messages become one tick, in order of id. Messages of which the same consumers have
-- read the same get one transaction id, so that a snapshot can say which these are: with that as its
-- start_snapshot each consumer leaves out what it had read, and begins anew. So it waits for whoever
-- reads at the moment. A message that came since the restore has a low transaction id, and is told from
-- those that were read by its number or its time. Where that takes more ids than there were transactions
-- in this cluster (it never should), consumers with unread messages read all from the beginning again.
--
-- It reads everything once, so it plans for that whatever the session is set to: by index, as a
-- dispatcher reads, 200,000 messages take more than a minute. Before it, the transaction has no id.
create or replace function postrider.rebase_log()
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = auto
set enable_seqscan = on
set enable_bitmapscan = on
set enable_hashjoin = on
set enable_mergejoin = on
as $$
declare
    last_id constant bigint := 9223372036854775807;
    first_xid constant bigint := 3;
    most_groups constant integer := 2000;
    unfinished bigint;
    floor_number bigint;
    newest_number bigint;
    tick_id bigint;
    group_count bigint;
    finished_count bigint;
    part record;
    known postrider.consumer_position;
begin
    -- Before this transaction has an id: see heartbeat.
    select s.last_value into floor_number from postrider.message_sequence s;
    -- Before the log: who reads may be about to send.
    perform
    from postrider.consumer_lock l
    order by l.consumer_id, l.partition
    for update;
    -- And whoever makes a tick.
    lock table postrider.tick in share row exclusive mode;
    -- Who sends draws a number first. Written anew, the sequence is locked, and what is set is undone with us.
    alter sequence postrider.message_sequence increment by 1;
    lock table postrider.message in share row exclusive mode;
    -- Before anything is numbered here.
    newest_number := postrider.advance_sequences();

    create temporary table finished on commit drop as
    select distinct (d.bucket << 12)
        + get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1) as sequence_number
    from postrider.done d
    cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i;
    analyze finished;

    -- What is open of messages with several targets waits from now on: read again, they would go to all.
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, message_created_at, expires_at, ordering_key,
        is_blocked)
    select
        o.id, t.target, coalesce(s.endpoint_id, 0), o.lane >> 4,
        least(greatest(clock_timestamp(), o.scheduled_at), o.expires_at), o.created_at, o.expires_at,
        o.ordering_key, o.ordering_key is not null
    from postrider.message o
    cross join lateral unnest(o.targets) t (target)
    left join postrider.subscriptions s on s.id = t.target
    left join finished f on f.sequence_number = o.id >> 10
    where cardinality(o.targets) > 1
    and f.sequence_number is null
    and not exists (select from postrider.delivery_end(o.id, t.target))
    on conflict (message_id, target) do nothing;

    -- How far each partition of each consumer is: up to the snapshot of a tick, and in this up to an id.
    create temporary table reading on commit drop as
    select
        c.id as consumer_id, g.partition, c.partition_count, c.start_snapshot, c.start_id,
        p.xid, p.message_id, coalesce(p.fetched_at, c.created_at) as read_at,
        t.snapshot, t.sequence_floor,
        case when t.id = p.tick and p.message_id < last_id then t.base_xmax end as part_xmax, t.stragglers
    from postrider.consumer c
    cross join lateral generate_series(0, c.partition_count - 1) g (partition)
    cross join lateral postrider.newest_position(c.id, g.partition) p
    left join lateral (
        select k.id, k.snapshot, k.sequence_floor, k.base_xmax, k.stragglers
        from postrider.tick k
        where k.id <= p.tick
        order by k.id desc
        limit 1
    ) t on true;

    create temporary table settled on commit drop as
    select
        o.id, o.created_at,
        f.sequence_number is not null
        or not exists (
            select
            from unnest(o.targets) t (target)
            where not exists (
                select
                from postrider.deferred d
                where d.message_id = o.id
                and d.target = t.target
            )
            and not exists (
                select
                from postrider.dead_letter l
                where l.message_id = o.id
                and l.target = t.target
            )
            and not exists (
                select
                from postrider.ended e
                where e.message_id = o.id
                and e.target = t.target
            )
            and not exists (
                select
                from postrider.partly_done p
                where p.message_id = o.id
                and p.targets @> array[t.target]
            )
        ) as is_finished,
        array(
            select r.consumer_id
            from reading r
            where r.partition = postrider.message_partition(o.ordering_key, o.id, r.partition_count)
            and (
                o.id >> 10 <= r.sequence_floor
                and pg_visible_in_snapshot(o.xid, r.snapshot)
                and (
                    r.part_xmax is null
                    or o.id <= r.message_id
                    or o.xid < r.part_xmax and o.xid <> all (r.stragglers)
                )
                or (o.xid, o.id) <= (r.xid, r.message_id)
                and (o.created_at <= r.read_at or o.id <= r.message_id)
                or o.id < r.start_id
                and pg_visible_in_snapshot(o.xid, r.start_snapshot)
            )
            order by r.consumer_id
        ) as readers
    from postrider.message o
    left join finished f on f.sequence_number = o.id >> 10;
    if (
        select count(*) > least(
            most_groups, pg_snapshot_xmin(pg_current_snapshot())::text::bigint - first_xid)
        from (
            select distinct m.is_finished, m.readers
            from settled m
        ) n
    ) then
        update settled m
        set readers = array(
            select c.id
            from postrider.consumer c
            where not exists (select from settled o where c.id <> all (o.readers))
            order by c.id
        );
    end if;
    create temporary table grouped on commit drop as
    select
        g.is_finished, g.readers,
        (first_xid - 1 + row_number() over (
            order by g.is_finished desc, cardinality(g.readers) desc, g.first_id))::text::xid8 as xid
    from (
        select m.is_finished, m.readers, min(m.id) as first_id
        from settled m
        group by m.is_finished, m.readers
    ) g;
    select count(*), count(*) filter (where g.is_finished) into group_count, finished_count from grouped g;
    analyze settled;

    -- Nobody else may.
    insert into postrider.log_change default values;
    update postrider.message m
    set xid = g.xid
    from settled s
    join grouped g on g.is_finished = s.is_finished and g.readers = s.readers
    where m.id = s.id;
    delete from postrider.log_change;
    select count(*) into unfinished from settled m where not m.is_finished;

    select 1 + greatest(max(n.id), 0)
    into tick_id
    from (
        select max(t.id) as id from postrider.tick t
        union all
        select max(p.tick) from postrider.consumer_position p
    ) n;
    perform setval('postrider.tick_sequence', greatest(tick_id, s.last_value))
    from postrider.tick_sequence s;
    delete from postrider.tick;
    insert into postrider.tick (
        id, epoch, at, sequence_floor, xid, snapshot, base_xmax, stragglers, first_id, last_id, from_at,
        to_at, message_count, is_sparse)
    select
        tick_id, coalesce(pg_sequence_last_value('postrider.tick_epoch'), 0), greatest(clock_timestamp(), max(m.created_at)), floor_number, pg_current_xact_id(),
        format('%1$s:%1$s:', first_xid + group_count)::pg_snapshot, first_xid::text::xid8, '{}',
        min(m.id), max(m.id), min(m.created_at), max(m.created_at), count(*), false
    from settled m
    where exists (select from postrider.consumer)
    having count(*) > 0;
    for part in
        select
            r.consumer_id, r.partition,
            exists (select from grouped g where r.consumer_id = any (g.readers)) as is_begun,
            exists (select from grouped g where r.consumer_id <> all (g.readers)) as is_behind
        from reading r
    loop
        select p.* into known from postrider.newest_position(part.consumer_id, part.partition) p;
        perform postrider.append_position(
            known,
            case when known.tick is not null then tick_id - part.is_behind::integer end,
            case
                when known.xid is null then null
                when part.is_behind then '0'::xid8
                else (first_xid + group_count)::text::xid8
            end,
            case
                when known.tick is not null then last_id
                else 0
            end,
            0, known.fetched_at);
        update postrider.consumer c
        set start_snapshot = case when n.is_needed then n.snapshot::pg_snapshot end,
            start_id = case when n.is_needed then (newest_number + 1) << 10 end
        from (
            select
                part.is_begun and part.is_behind as is_needed,
                format(
                    '%s:%s:%s', coalesce(min(g.xid::text::bigint), first_xid + group_count),
                    first_xid + group_count,
                    string_agg(g.xid::text, ',' order by g.xid)) as snapshot
            from grouped g
            where part.consumer_id <> all (g.readers)
        ) n
        where c.id = part.consumer_id;
    end loop;
    delete from postrider.consumer_lease;

    -- Whatever was read before is forgotten; everyone starts behind what is finished. What a dump says of
    -- dispatchers is nobody's sign of life.
    update postrider.shard s set owner = null, epoch = s.epoch + 1, unrecovered = '{}';
    delete from postrider.dispatcher;
    delete from postrider.heartbeat;
    delete from postrider.clock_jump;
    delete from postrider.claim;
    delete from postrider.checkpoint;
    -- What was cancelled and not read has ended, and nobody reads it any more. Where a row of it waits, a dispatcher has
    -- to know, and takes both away.
    delete from postrider.cancellation c
    where not exists (
        select
        from postrider.deferred d
        where d.message_id = c.message_id
        and d.target = c.target
    );
    -- Everyone begins behind what is finished, and only the rest counts as waiting.
    insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
    select
        postrider.current_slot(), '00000000-0000-0000-0000-000000000000',
        array_agg(s.shard order by s.shard), (first_xid + finished_count)::text::xid8,
        array_agg(n.last_value - unfinished),
        jsonb_build_array(jsonb_build_object('state', jsonb_build_object(
            'tail', finished.position, 'done', jsonb_build_array(finished.position),
            -- Nothing was taken that is not on record.
            'open', '[]'::jsonb)))
    from postrider.shard s
    cross join postrider.message_sequence n
    cross join (
        select jsonb_build_object('base', format('%1$s:%1$s:', first_xid + finished_count))
    ) finished (position)
    group by finished.position;
    perform postrider.update_gate();
    perform postrider.rebase_executions();
    -- What was copied has changed since for nobody.
    update postrider.job j set xid = pg_current_xact_id() where j.state = 'running';
    return unfinished;
end;
$$;
