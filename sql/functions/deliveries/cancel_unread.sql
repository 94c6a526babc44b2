-- postrider.cancel_unread(message_ids, targets) → how many deliveries were cancelled, and how many are in hand
--
-- Internal: a step of cancel_batch. What no dispatcher has read of these messages for one of these targets, as
-- cancel_message does it: locks, then the sequence, and then a look at how far dispatchers are. In hand is what was
-- read, has not ended, and does not wait; and what somebody else has locked. Uses message_id, cancellation_pkey, and
-- what is_taken and delivery_end use.
create or replace function postrider.cancel_unread(
    p_message_ids bigint[],
    p_targets integer[],
    out cancelled_count bigint,
    out held_count bigint)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    locked bigint[];
    unread record;
begin
    perform
    from postrider.cancel_bucket b
    where b.bucket = any (array(
        select distinct i.id >> 10 & 1023
        from unnest(p_message_ids) i (id)
    ))
    for key share;
    locked := array(
        select m.id
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select k.id
            from postrider.message k
            where k.id = i.id
            offset 0
            for update skip locked
        ) m
    );
    perform nextval('postrider.cancel_sequence');
    select
        coalesce(array_agg(c.id) filter (where not c.is_taken), '{}') as message_ids,
        coalesce(array_agg(c.target) filter (where not c.is_taken), '{}') as targets,
        count(*) filter (where c.is_taken) as taken_count
    into unread
    from (
        select
            m.id, t.target,
            postrider.is_taken(
                m.id, m.xid, case when m.expires_at is null then m.targets else '{}' end) as is_taken
        from unnest(locked) i (id)
        cross join lateral (
            select k.id, k.xid, k.targets, k.expires_at
            from postrider.message k
            where k.id >= i.id
            and k.id <= i.id
            order by k.id
            limit 1
        ) m
        cross join lateral unnest(m.targets) t (target)
        where t.target = any (p_targets)
        and not postrider.is_deferred(m.id, t.target)
        and not postrider.has_ended(m.id, t.target)
        offset 0
    ) c;
    with marked as (
        insert into postrider.cancellation (message_id, target)
        select u.message_id, u.target
        from unnest(unread.message_ids, unread.targets) u (message_id, target)
        on conflict (message_id, target) do nothing
        returning message_id, target
    )
    insert into postrider.ended (message_id, target, endpoint_id, reason)
    select m.message_id, m.target, coalesce(s.endpoint_id, 0), 'cancelled'
    from marked m
    left join postrider.subscriptions s on s.id = m.target;
    get diagnostics cancelled_count = row_count;
    perform postrider.free_idempotency_keys(unread.message_ids);
    held_count := unread.taken_count + cardinality(p_message_ids) - cardinality(locked);
end;
$$;
