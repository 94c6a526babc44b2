-- postrider.rebase_log() → how many unfinished messages there were; null when nothing was to be done
--
-- Internal, by a dispatcher at its start. Brings a log from another cluster (is_foreign) into this
-- one's transaction ids: unfinished messages count as written by this transaction, finished ones as
-- written before all others. The only statement that changes a message's row, and it changes no
-- column that a user wrote.
--
-- It reads everything once, so it plans for that whatever the session is set to: by index, as a
-- dispatcher reads, 200,000 messages take more than a minute.
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
    unfinished bigint;
    positions jsonb;
begin
    perform pg_advisory_xact_lock(1886352244, 1000);
    if not postrider.is_foreign() then
        return null;
    end if;
    lock table postrider.message in share row exclusive mode;

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

    with marked as (
        update postrider.message m
        set xid = case when settled.is_finished then '3'::xid8 else pg_current_xact_id() end
        from (
            select
                o.id,
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
                ) as is_finished
            from postrider.message o
            left join finished f on f.sequence_number = o.id >> 10
        ) settled
        where m.id = settled.id
        returning settled.is_finished
    )
    select count(*) filter (where not m.is_finished) into unfinished from marked m;

    -- Whatever was read before is forgotten; everyone starts behind what is finished.
    update postrider.shard s set owner = null, epoch = s.epoch + 1;
    delete from postrider.dispatcher;
    delete from postrider.heartbeat;
    delete from postrider.claim;
    delete from postrider.checkpoint;
    -- Everyone begins at the start of the log, and only what is not finished counts as waiting.
    insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
    select
        postrider.current_slot(), '00000000-0000-0000-0000-000000000000',
        array_agg(s.shard order by s.shard), '3', array_agg(n.last_value - unfinished), '[]'
    from postrider.shard s
    cross join postrider.message_sequence n;
    perform postrider.update_gate();
    insert into postrider.event_log (event, details)
    values ('log.rebased', jsonb_build_object('unfinished_messages', unfinished));
    return unfinished;
end;
$$;
