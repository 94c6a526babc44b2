-- postrider.archive: every delivery that has ended, one row per message and target
--
-- Admin, operator, application; monitor without what an application wrote. Two parts, each in order of id by
-- itself, so that the newest are found without a sort: messages for one endpoint, and published ones.
-- What the log holds below done_before and does not wait has ended; how is looked up row by row, and
-- only if a column that says so is read. For the shape see queue. By an endpoint's name, what was
-- published is walked through: about 1 µs a delivery until the limit is reached; with `event_type is
-- null` it is left out. Uses message_id, message_endpoint_id, message_published_id.
create or replace view postrider.archive as
select
    a.id, a.endpoint_name, null::text as event_type,
    a.ending ->> 'status' as status,
    a.payload, a.body, a.content_type,
    (a.ending ->> 'retry_count')::integer as retry_count,
    a.ending ->> 'last_error' as last_error,
    a.priority, a.scheduled_at, a.idempotency_key, a.correlation_id, a.expires_at, a.ordering_key,
    a.headers, a.metadata, a.created_at,
    (a.ending ->> 'at')::timestamptz as ended_at,
    case
        when a.ending ->> 'status' = 'completed' then (a.ending ->> 'at')::timestamptz
    end as completed_at,
    case
        when a.ending ->> 'status' = 'failed' then (a.ending ->> 'at')::timestamptz
    end as failed_at,
    a.target, a.replay_of
from (
    select
        p.id, p.endpoint_name, m.payload, m.body, m.content_type, m.priority, m.scheduled_at,
        m.idempotency_key, m.correlation_id, m.expires_at, m.ordering_key, m.headers, m.metadata,
        m.created_at, m.targets[1] as target, m.replay_of,
        postrider.describe_end(p.id, m.targets[1]) as ending
    from (
        select k.id, k.endpoint_name
        from postrider.message k
        where k.endpoint_name is not null
        and k.id <= (select postrider.ended_ceiling())
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
    and (m.xid < (select postrider.done_before()) or postrider.has_ended(m.id, m.targets[1]))
    order by p.id desc
) a
union all
select
    a.id, a.endpoint_name, a.event_type,
    a.ending ->> 'status',
    a.payload, a.body, a.content_type,
    (a.ending ->> 'retry_count')::integer,
    a.ending ->> 'last_error',
    a.priority, a.scheduled_at, a.idempotency_key, a.correlation_id, a.expires_at, a.ordering_key,
    a.headers, a.metadata, a.created_at,
    (a.ending ->> 'at')::timestamptz,
    case
        when a.ending ->> 'status' = 'completed' then (a.ending ->> 'at')::timestamptz
    end,
    case
        when a.ending ->> 'status' = 'failed' then (a.ending ->> 'at')::timestamptz
    end,
    a.target, a.replay_of
from (
    select
        p.id, p.endpoint_name, p.event_type, m.payload, m.body, m.content_type, m.priority,
        m.scheduled_at, m.idempotency_key, m.correlation_id, m.expires_at, m.ordering_key, m.headers,
        m.metadata, m.created_at, p.target, m.replay_of, postrider.describe_end(p.id, p.target) as ending
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
        and k.id <= (select postrider.ended_ceiling())
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
    and (m.xid < (select postrider.done_before()) or postrider.has_ended(m.id, p.target))
    order by p.id desc
) a;
