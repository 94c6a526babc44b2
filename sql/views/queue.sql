-- postrider.queue: every delivery that has not ended, one row per message and target
--
-- Admin, operator, application; monitor without what an application wrote. Status: `processing` when a dispatcher has
-- it, else `pending`.
--
-- Made so that `order by id [desc] limit n` reads little more than n rows, at any size. A planner merges the parts of
-- `union all` in order of id, in either direction, only if each part is one table without a condition, whose index has
-- that order. So:
--
-- - Conditions stand behind the union, by kind. The kind is a constant in each part, and the planner leaves of a
--   condition what concerns the part: there it is one of an index.
-- - What waits is read by deferred_pkey, what was sent to one endpoint by message_direct_id (with the endpoint's name
--   by message_endpoint_id), what was published by message_published_id, by the number of its targets (`one`, `few`,
--   `many`): in each of these ranges nothing else stands that would have to be walked over.
-- - The name of an endpoint is a column of each part. Were it computed behind the union, a condition on it would not be
--   one of message_endpoint_id that leaves its order, and of what was unnested there, none of it at all. So a message
--   with two to four targets is in four parts, one for each place, and one with more is unnested in a part of its own,
--   which has one order: the other direction sorts all of those that nobody has read.
-- - The log is read where something of it may be unfinished (log_ranges): from what nobody has read or is in hand, and,
--   of messages with one target (`is_left`), what was left to a lag, which can lie millions before it: only for whom
--   something may be left (left_kinds, left_names).
-- - What is recorded of a message is looked up behind the union, in order of id, so that no part walks over what has
--   ended to find its first row. The states of the lanes' readers (may_wait) spare most of that.
--
-- Uses deferred_pkey, message_direct_id, message_endpoint_id, message_published_id, message_id, dead_letter_message.
create or replace view postrider.queue as
select
    u.id,
    u.endpoint_name,
    coalesce(m.event_type, l.event_type) as event_type,
    case
        when case u.kind
            when 'waiting' then
                not u.is_blocked
                and u.run_at <= now()
                and postrider.is_claimed(u.id, u.target, u.retry_count)
            else postrider.is_taken(u.id, w.xid, w.skippable)
        end
        then 'processing'
        else 'pending'
    end as status,
    coalesce(m.payload, l.payload) as payload,
    coalesce(m.body, l.body) as body,
    coalesce(m.content_type, l.content_type) as content_type,
    u.retry_count,
    case
        when u.kind = 'waiting' then
            case when not u.is_blocked and u.run_at > now() then u.run_at end
        when m.scheduled_at > now() then m.scheduled_at
    end as next_retry_at,
    u.last_error,
    coalesce(m.priority, l.priority) as priority,
    m.scheduled_at,
    m.idempotency_key,
    coalesce(m.correlation_id, l.correlation_id) as correlation_id,
    case when u.kind = 'waiting' then u.expires_at else m.expires_at end as expires_at,
    coalesce(u.ordering_key, m.ordering_key) as ordering_key,
    coalesce(m.headers, l.headers) as headers,
    coalesce(m.metadata, l.metadata) as metadata,
    coalesce(u.created_at, m.created_at) as created_at,
    u.target,
    coalesce(m.replay_of, l.replay_of) as replay_of
from (
    select
        'waiting' as kind, false as is_left, null::boolean as is_published, null::boolean as is_over_one,
        null::boolean as is_over_four, d.message_id as id, d.target, null::integer[] as targets,
        (select postrider.target_names()) ->> d.target::text as endpoint_name, null::xid8 as xid, d.expires_at,
        d.run_at, d.is_blocked, d.retry_count, d.last_error,
        d.message_created_at as created_at, d.ordering_key
    from postrider.deferred d
    union all
    select
        'direct', false, null, null,
        null, m.id, m.targets[1], m.targets,
        m.endpoint_name, m.xid, m.expires_at,
        null, false, 0, null, null, null
    from postrider.message m
    union all
    select
        'direct', true, null, null,
        null, m.id, m.targets[1], m.targets,
        m.endpoint_name, m.xid, m.expires_at,
        null, false, 0, null, null, null
    from postrider.message m
    union all
    select
        'one', false, m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[1], m.targets,
        (select postrider.target_names()) ->> m.targets[1]::text, null, null,
        null, false, 0, null, null, null
    from postrider.message m
    union all
    select
        'one', true, m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[1], m.targets,
        (select postrider.target_names()) ->> m.targets[1]::text, m.xid, m.expires_at,
        null, false, 0, null, null, null
    from postrider.message m
    union all
    select
        'few', false, m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[1], m.targets,
        (select postrider.target_names()) ->> m.targets[1]::text, null, null,
        null, false, 0, null, null, null
    from postrider.message m
    union all
    select
        'few', false, m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[2], m.targets,
        (select postrider.target_names()) ->> m.targets[2]::text, null, null,
        null, false, 0, null, null, null
    from postrider.message m
    union all
    select
        'few', false, m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[3], m.targets,
        (select postrider.target_names()) ->> m.targets[3]::text, null, null,
        null, false, 0, null, null, null
    from postrider.message m
    union all
    select
        'few', false, m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[4], m.targets,
        (select postrider.target_names()) ->> m.targets[4]::text, null, null,
        null, false, 0, null, null, null
    from postrider.message m
    union all
    select
        'many', false, true, true, true, p.id, p.target, p.targets,
        (select postrider.target_names()) ->> p.target::text, null, null,
        null, false, 0, null, null, null
    from (
        select k.id, k.targets, t.target
        from postrider.message k
        cross join lateral unnest(k.targets) t (target)
        where (select postrider.has_wide_messages())
        and k.event_type is not null
        and (cardinality(k.targets) > 1) is true
        and (cardinality(k.targets) > 4) is true
        order by k.id
    ) p
) u
cross join lateral (
    -- Behind the order, once a row. A place without a target is no delivery. Of what the part has said itself nobody asks
    -- the states once more.
    select
        f.xid, f.skippable,
        u.kind = 'waiting'
        or u.target is not null
        and (
            u.xid is not null
            or postrider.may_wait((select postrider.lane_states()), u.id, f.xid, f.skippable))
        and not postrider.is_deferred(u.id, u.target)
        and not postrider.has_ended(u.id, u.target) as is_waiting
    from (
        select c.xid, case when c.expires_at is null then u.targets else '{}' end as skippable
        from (
            select coalesce(u.xid, k.xid) as xid, coalesce(u.expires_at, k.expires_at) as expires_at
            from (select) one
            left join lateral (
                select m.xid, m.expires_at
                from postrider.message m
                where u.kind <> 'waiting'
                and u.xid is null
                and m.id >= u.id
                and m.id <= u.id
                order by m.id
                limit 1
            ) k on true
            offset 0
        ) c
        offset 0
    ) f
    offset 0
) w
left join lateral (
    -- Only of what is shown, and column by column: a whole row would be put together with its payload.
    select
        k.id, k.event_type, k.payload, k.body, k.content_type, k.priority, k.scheduled_at,
        k.idempotency_key, k.correlation_id, k.expires_at, k.ordering_key, k.headers, k.metadata,
        k.created_at, k.replay_of
    from postrider.message k
    where k.id >= u.id
    and k.id <= u.id
    order by k.id
    limit 1
) m on true
left join lateral (
    -- Whose message is gone with its partition was redriven, and its dead letter is kept.
    select
        d.event_type, d.payload, d.body, d.content_type, d.priority, d.correlation_id, d.headers,
        d.metadata, d.replay_of
    from postrider.dead_letter d
    where u.kind = 'waiting'
    and m.id is null
    and d.message_id = u.id
    and d.target = u.target
    order by d.id desc
    limit 1
) l on true
where case u.kind
    when 'direct' then u.endpoint_name is not null
    when 'one' then u.is_published and u.is_over_one is false and u.is_over_four is false
    when 'few' then u.is_published and u.is_over_one is true and u.is_over_four is false
    else true
end
and (
    u.kind = 'waiting'
    or u.id > case
        when u.is_left then (select (postrider.log_ranges())[1])
        else (select (postrider.log_ranges())[3])
    end
)
and (
    not u.is_left
    or u.id <= (select (postrider.log_ranges())[2])
    and u.kind = any ((select postrider.left_kinds())::text[])
    and (u.kind <> 'direct' or u.endpoint_name = any ((select postrider.left_names())::text[]))
)
and (
    case u.kind when 'direct' then false else not u.is_left end
    or postrider.may_wait(
        (select postrider.lane_states()), u.id, u.xid,
        case when u.expires_at is null then u.targets else '{}' end)
)
and w.is_waiting;
