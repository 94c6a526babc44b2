-- Those to event types, ended ones too. $1: an endpoint's name or null; $2: an event type, as it was subscribed to, or null.
-- $3: behind this one, or null; $4: how many.
-- Index: subscriptions_pkey, subscriptions_endpoint_id.
select
    json_build_object(
        'id', s.id, 'endpoint_name', e.name, 'event_type', s.event_type, 'filter', s.filter,
        'retry_policy', s.retry_policy, 'enabled', s.enabled, 'created_at', s.created_at,
        'ended_at', s.ended_at) as item,
    s.id::text as key
from postrider.subscriptions s
join postrider.endpoints e on e.id = s.endpoint_id
where s.id > coalesce($3::text::integer, 0)
and s.event_type is not null
and (e.name = $1::text or $1::text is null)
and (s.event_type = $2::text or $2::text is null)
order by s.id
limit $4::bigint;
