-- postrider.append_replays(message_ids, targets) → the new messages' ids, in the order of the old ones
--
-- Internal. Writes messages of the log once more, each to those of its targets that stand beside its
-- id: as it was, without idempotency key, schedule and expiry, and with the old id. What was erased is left out. In one
-- statement. Raises 53400. Uses message_id.
create or replace function postrider.append_replays(p_message_ids bigint[], p_targets integer[])
returns bigint[]
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    writer xid8;
    replay_ids bigint[];
    rung integer;
begin
    if p_message_ids = '{}' then
        return '{}';
    end if;
    perform postrider.check_room(cardinality(p_message_ids), p_targets);

    writer := pg_current_xact_id();
    with wanted as materialized (
        select w.message_id, array_agg(w.target order by w.target) as targets
        from unnest(p_message_ids, p_targets) w (message_id, target)
        group by w.message_id
        order by w.message_id
    ), numbered as materialized (
        -- As many numbers as deliveries, as in append_message.
        select
            w.message_id, w.targets,
            (
                select max(nextval('postrider.message_sequence'))
                from generate_series(1, cardinality(w.targets))
            ) as sequence_number
        from wanted w
    ), placed as (
        select
            n.message_id, n.targets, n.sequence_number,
            case
                when m.ordering_key is null
                then ((n.sequence_number >> 6) % postrider.shard_count()) * 16 + m.priority
                else postrider.key_shard(m.ordering_key) * 16 + 15
            end as lane,
            m.correlation_id, m.priority, m.endpoint_name, m.event_type, m.ordering_key, m.headers,
            m.metadata, m.payload, m.body, m.content_type
        from numbered n
        cross join lateral (
            select k.*
            from postrider.message k
            where k.id >= n.message_id
            and k.id <= n.message_id
            and k.erased_at is null
            order by k.id
            limit 1
        ) m
    ), inserted as (
        insert into postrider.message (
            id, xid, correlation_id, lane, priority, targets, endpoint_name, event_type, ordering_key,
            headers, metadata, payload, body, content_type, replay_of)
        select
            p.sequence_number * 1024 + p.lane, writer, p.correlation_id, p.lane, p.priority, p.targets,
            p.endpoint_name, p.event_type, p.ordering_key, p.headers, p.metadata, p.payload, p.body,
            p.content_type, p.message_id
        from placed p
        returning id
    )
    select coalesce(array_agg(i.id order by i.id), '{}')
    into replay_ids
    from inserted i;
    -- An old target is named again, by a message of today: see forget_subscriptions.
    with named as (
        select s.id
        from postrider.subscriptions s
        where s.id = any (p_targets)
        and s.ended_at < now() - interval '1 day'
        for update skip locked
    )
    update postrider.subscriptions s
    set ended_at = now()
    from named n
    where s.id = n.id;

    -- As in send_batch_with_priority.
    select count(postrider.ring('postrider', s.shard::text))
    into rung
    from (
        select distinct ((i.id & 1023) >> 4)::integer as shard
        from unnest(replay_ids) i (id)
    ) s
    where not pg_try_advisory_xact_lock_shared(1886352244, s.shard);
    return replay_ids;
end;
$$;
