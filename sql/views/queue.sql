-- postrider.queue: every delivery that has not ended, one row per message and target
--
-- Admin, operator, application; monitor without what an application wrote. Three parts, each in order of id by
-- itself, so that the newest are found without a sort: what waits in postrider.deferred, and what is
-- in the log and not finished, for one endpoint or published. Status: `processing` when a dispatcher
-- has it, else `pending`. What is computed is computed only if its column is read.
--
-- Ids are found first, of what the map of done_map does not call done (xid8ge is >= without the index
-- of xids, which would need a sort), and everything else is asked of one message after the other (the limit keeps the
-- planner from joining): a plan that asks all first and sorts then would take seconds for fifty rows.
-- Uses deferred_pkey, deferred_due, message_id, message_endpoint_id, message_published_id.
create or replace view postrider.queue as
select
    w.id, w.endpoint_name,
    coalesce((w.message).event_type, (w.letter).event_type) as event_type,
    case
        when not w.is_blocked
        and w.run_at <= now()
        and postrider.is_claimed(w.id, w.target, w.retry_count)
        then 'processing'
        else 'pending'
    end as status,
    coalesce((w.message).payload, (w.letter).payload) as payload,
    coalesce((w.message).body, (w.letter).body) as body,
    coalesce((w.message).content_type, (w.letter).content_type) as content_type,
    w.retry_count,
    case when not w.is_blocked and w.run_at > now() then w.run_at end as next_retry_at,
    w.last_error,
    coalesce((w.message).priority, (w.letter).priority) as priority,
    (w.message).scheduled_at,
    (w.message).idempotency_key,
    coalesce((w.message).correlation_id, (w.letter).correlation_id) as correlation_id,
    w.expires_at, w.ordering_key,
    coalesce((w.message).headers, (w.letter).headers) as headers,
    coalesce((w.message).metadata, (w.letter).metadata) as metadata,
    w.created_at, w.target,
    coalesce((w.message).replay_of, (w.letter).replay_of) as replay_of
from (
    select
        d.id, d.endpoint_name, d.is_blocked, d.run_at, d.retry_count, d.last_error, d.expires_at,
        d.ordering_key, d.created_at, d.target,
        -- Whole rows and no joins: fetched for what is returned, and behind the order.
        (
            select m
            from postrider.message m
            where m.id = d.id
            limit 1
        ) as message,
        -- Whose message is gone with its partition was redriven, and its dead letter is kept.
        (
            select l
            from postrider.dead_letter l
            where l.message_id = d.id
            and l.target = d.target
            and not exists (select from postrider.message m where m.id = d.id)
            order by l.id desc
            limit 1
        ) as letter
    from (
        select
            w.message_id as id, e.name as endpoint_name, w.is_blocked, w.run_at, w.retry_count,
            w.last_error, w.expires_at, w.ordering_key, w.message_created_at as created_at, w.target
        from postrider.deferred w
        left join postrider.endpoints e on e.id = w.endpoint_id
        order by w.message_id desc
    ) d
    order by d.id desc
) w
union all
select
    o.id, o.endpoint_name, null,
    case when postrider.is_taken(o.id, o.xid, o.skippable) then 'processing' else 'pending' end,
    o.payload, o.body, o.content_type, 0,
    case when o.scheduled_at > now() then o.scheduled_at end,
    null, o.priority, o.scheduled_at, o.idempotency_key, o.correlation_id, o.expires_at,
    o.ordering_key, o.headers, o.metadata, o.created_at, o.targets[1],
    o.replay_of
from (
    select
        p.id, m.xid, m.targets,
        case when m.expires_at is null then m.targets else '{}' end as skippable,
        p.endpoint_name, m.payload, m.body, m.content_type, m.priority,
        m.scheduled_at, m.idempotency_key, m.correlation_id, m.expires_at, m.ordering_key, m.headers,
        m.metadata, m.created_at, m.replay_of
    from (
        select k.id, k.endpoint_name
        from postrider.message k
        where k.endpoint_name is not null
        and k.id > (select postrider.pending_floor())
        and xid8ge(k.xid, (select postrider.done_before()))
        and substr(
            (select postrider.done_map()),
            ((k.id >> 10) - (select postrider.done_map_start()))::integer, 1) is distinct from '\x01'
        order by k.id desc
    ) p
    cross join lateral (
        select
            k.id, k.xid, k.targets, k.payload, k.body, k.content_type, k.priority, k.scheduled_at,
            k.idempotency_key, k.correlation_id, k.expires_at, k.ordering_key, k.headers, k.metadata,
            k.created_at, k.replay_of
        from postrider.message k
        where k.id = p.id
        limit 1
    ) m
    where not postrider.is_deferred(m.id, m.targets[1])
    and not postrider.has_ended(m.id, m.targets[1])
    order by p.id desc
) o
union all
select
    o.id, o.endpoint_name, o.event_type,
    case when postrider.is_taken(o.id, o.xid, o.skippable) then 'processing' else 'pending' end,
    o.payload, o.body, o.content_type, 0,
    case when o.scheduled_at > now() then o.scheduled_at end,
    null, o.priority, o.scheduled_at, o.idempotency_key, o.correlation_id, o.expires_at,
    o.ordering_key, o.headers, o.metadata, o.created_at, o.target, o.replay_of
from (
    select
        p.id, m.xid, case when m.expires_at is null then m.targets else '{}' end as skippable,
        p.endpoint_name, p.event_type, m.payload, m.body, m.content_type,
        m.priority, m.scheduled_at, m.idempotency_key, m.correlation_id, m.expires_at,
        m.ordering_key, m.headers, m.metadata, m.created_at, p.target, m.replay_of
    from (
        select
            k.id, (
                select jsonb_object_agg(s.id, e.name)
                from postrider.subscriptions s
                join postrider.endpoints e on e.id = s.endpoint_id
            ) ->> t.target::text as endpoint_name,
            k.event_type, t.target
        from postrider.message k
        cross join lateral unnest(k.targets) t (target)
        where k.event_type is not null
        and k.id > (select postrider.pending_floor())
        and xid8ge(k.xid, (select postrider.done_before()))
        and substr(
            (select postrider.done_map()),
            ((k.id >> 10) - (select postrider.done_map_start()))::integer, 1) is distinct from '\x01'
        order by k.id desc
    ) p
    cross join lateral (
        select
            k.id, k.xid, k.targets, k.payload, k.body, k.content_type, k.priority, k.scheduled_at,
            k.idempotency_key, k.correlation_id, k.expires_at, k.ordering_key,
            k.headers, k.metadata, k.created_at, k.replay_of
        from postrider.message k
        where k.id = p.id
        limit 1
    ) m
    where not postrider.is_deferred(m.id, p.target)
    and not postrider.has_ended(m.id, p.target)
    order by p.id desc
) o;
