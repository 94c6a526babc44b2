-- postrider.archive: every delivery that has ended, one row per message and target
--
-- Admin, operator, application; monitor without what an application wrote. Read in order of id, upwards and downwards,
-- at any size: for the shape, and why it is so, see queue. What the log holds below done_before and does not wait has
-- ended; how is looked up row by row, and only if a column that says so is read. By an endpoint's name, what was
-- published is walked through until the limit is reached; with `event_type is null` it is left out. Uses
-- message_direct_id, message_endpoint_id, message_published_id, message_id.
create or replace view postrider.archive as
select
    u.id,
    u.endpoint_name,
    u.event_type,
    e.ending ->> 'status' as status,
    m.payload, m.body, m.content_type,
    (e.ending ->> 'retry_count')::integer as retry_count,
    e.ending ->> 'last_error' as last_error,
    m.priority, m.scheduled_at, m.idempotency_key,
    m.correlation_id, m.expires_at, m.ordering_key,
    m.headers, m.metadata, m.created_at,
    (e.ending ->> 'at')::timestamptz as ended_at,
    case
        when e.ending ->> 'status' = 'completed' then (e.ending ->> 'at')::timestamptz
    end as completed_at,
    case
        when e.ending ->> 'status' = 'failed' then (e.ending ->> 'at')::timestamptz
    end as failed_at,
    u.target, m.replay_of
from (
    select
        'direct' as kind, null::boolean as is_published, null::boolean as is_over_one,
        null::boolean as is_over_four, m.id, m.targets[1] as target,
        m.endpoint_name, null::text as event_type, m.xid
    from postrider.message m
    union all
    select
        'one', m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[1],
        (select postrider.target_names()) ->> m.targets[1]::text, m.event_type, null
    from postrider.message m
    union all
    select
        'few', m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[1],
        (select postrider.target_names()) ->> m.targets[1]::text, m.event_type, null
    from postrider.message m
    union all
    select
        'few', m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[2],
        (select postrider.target_names()) ->> m.targets[2]::text, m.event_type, null
    from postrider.message m
    union all
    select
        'few', m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[3],
        (select postrider.target_names()) ->> m.targets[3]::text, m.event_type, null
    from postrider.message m
    union all
    select
        'few', m.event_type is not null, cardinality(m.targets) > 1,
        cardinality(m.targets) > 4, m.id, m.targets[4],
        (select postrider.target_names()) ->> m.targets[4]::text, m.event_type, null
    from postrider.message m
    union all
    select 'many', true, true, true, p.id, p.target,
        (select postrider.target_names()) ->> p.target::text, p.event_type, null
    from (
        select k.id, k.event_type, t.target
        from postrider.message k
        cross join lateral unnest(k.targets) t (target)
        where (select postrider.has_wide_messages())
        and k.event_type is not null
        and (cardinality(k.targets) > 1) is true
        and (cardinality(k.targets) > 4) is true
        order by k.id desc
    ) p
) u
cross join lateral (
    -- Behind the order, once a row. A place without a target is no delivery.
    select
        u.target is not null
        and not postrider.is_deferred(u.id, u.target)
        and (
            f.xid < (select postrider.done_before())
            or postrider.has_ended(u.id, u.target)) as has_ended
    from (
        select
            coalesce(
                u.xid, (
                    select m.xid
                    from postrider.message m
                    where m.id >= u.id
                    and m.id <= u.id
                    order by m.id
                    limit 1
                )) as xid
        offset 0
    ) f
    offset 0
) w
cross join lateral (
    -- Only of what is shown, and column by column: a whole row would be put together with its payload.
    select
        k.payload, k.body, k.content_type, k.priority, k.scheduled_at, k.idempotency_key,
        k.correlation_id, k.expires_at, k.ordering_key, k.headers, k.metadata, k.created_at,
        k.replay_of
    from postrider.message k
    where k.id >= u.id
    and k.id <= u.id
    order by k.id
    limit 1
) m
cross join lateral (select postrider.describe_end(u.id, u.target) as ending offset 0) e
where case u.kind
    when 'direct' then u.endpoint_name is not null
    when 'one' then u.is_published and u.is_over_one is false and u.is_over_four is false
    when 'few' then u.is_published and u.is_over_one is true and u.is_over_four is false
    else true
end
and u.id <= (select postrider.ended_ceiling())
and w.has_ended;
