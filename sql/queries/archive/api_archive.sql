-- Deliveries that have ended, the newest first.
-- $1: an endpoint's name or null; $2: an event type or null; $3: behind this delivery, or null; $4: how many.
-- With a filter the next 1,000 messages are looked at. A row without an item says how far that was, where there may be more.
-- Of one message all deliveries are read, so that none is lost between two pages. Index: none, the view has its own.
with start as materialized (
    select
        coalesce(split_part($3::text, '|', 1)::bigint, 9223372036854775807) as id,
        coalesce(split_part($3::text, '|', 2)::integer, 2147483647) as target
),
looked_at as materialized (
    select q.id
    from postrider.archive q
    where q.id < (select s.id from start s)
    order by q.id desc
    limit case when $1::text is null and $2::text is null then $4::bigint else 1000 end
),
found as materialized (
    select
        q.id, q.endpoint_name, q.event_type, q.status, q.priority, q.ordering_key,
        q.correlation_id, q.retry_count, q.last_error, q.created_at, q.ended_at, q.replay_of,
        q.target
    from (
        select
            q.id, q.endpoint_name, q.event_type, q.status, q.priority, q.ordering_key,
            q.correlation_id, q.retry_count, q.last_error, q.created_at, q.ended_at, q.replay_of,
            q.target
        from postrider.archive q
        where q.id >= coalesce(
            (select min(l.id) from looked_at l), (select s.id from start s))
        and q.id <= (select s.id from start s)
        and (q.id, q.target) < (select s.id, s.target from start s)
    ) q
    where (q.endpoint_name = $1::text or $1::text is null)
    and (q.event_type = $2::text or $2::text is null)
    order by q.id desc, q.target desc
    limit $4::bigint
)
(
    select
        json_build_object(
            'id', f.id, 'endpoint_name', f.endpoint_name, 'event_type', f.event_type, 'status', f.status,
            'priority', f.priority, 'ordering_key', f.ordering_key, 'correlation_id', f.correlation_id,
            'retry_count', f.retry_count, 'last_error', f.last_error, 'created_at', f.created_at,
            'ended_at', f.ended_at, 'replay_of', f.replay_of) as item,
        format('%s|%s', f.id, f.target) as key
    from found f
    order by f.id desc, f.target desc
)
union all
(
    select null, format('%s|%s', min(l.id), -1)
    from looked_at l
    having count(*) = case when $1::text is null and $2::text is null then $4::bigint else 1000 end
    and (select count(*) from found) < $4::bigint
);
