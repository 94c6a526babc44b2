-- The newest first. $1: an endpoint's name or null.
-- $2: behind this one, or null; $3: how many.
-- Of one endpoint they are walked through by name and id, on from where the page begins: with a bound at its other
-- end too they look so few to who has counted none that all of them are put in order.
-- Index: dead_letter_pkey, dead_letter_endpoint_name.
select
    json_build_object(
        'id', l.id, 'endpoint_name', l.endpoint_name, 'event_type', l.event_type, 'message_id', l.message_id,
        'priority', l.priority, 'status', l.status, 'cause', l.cause, 'retry_count', l.retry_count,
        'last_error', l.last_error, 'failed_at', l.failed_at, 'redriven_at', l.redriven_at,
        'redriven_by', l.redriven_by, 'message_created_at', l.message_created_at,
        'correlation_id', l.correlation_id) as item,
    l.id::text as key
from (
    (
        select k.id
        from postrider.dead_letter k
        where $1::text is null
        and k.id < coalesce($2::text::bigint, 9223372036854775807)
        order by k.id desc
        limit $3::bigint
    )
    union all
    (
        select n.id
        from (
            select k.id, k.endpoint_name
            from postrider.dead_letter k
            where (k.endpoint_name, k.id) < ($1::text, coalesce($2::text::bigint, 9223372036854775807))
            order by k.endpoint_name desc, k.id desc
            limit $3::bigint
        ) n
        where n.endpoint_name = $1::text
    )
) p
cross join lateral (
    select
        f.id, f.endpoint_name, f.event_type, f.message_id, f.priority, f.status, f.cause, f.retry_count,
        f.last_error, f.failed_at, f.redriven_at, f.redriven_by, f.message_created_at, f.correlation_id
    from postrider.dead_letter f
    where f.id = p.id
    limit 1
) l
order by l.id desc
limit $3::bigint;
