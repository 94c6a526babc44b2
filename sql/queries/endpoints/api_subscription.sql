-- $1: its id.
-- Index: subscriptions_pkey.
select
    json_build_object(
        'id', s.id, 'endpoint_name', e.name, 'event_type', s.event_type, 'filter', s.filter,
        'retry_policy', s.retry_policy, 'enabled', s.enabled, 'created_at', s.created_at,
        'ended_at', s.ended_at) as item
from postrider.subscriptions s
join postrider.endpoints e on e.id = s.endpoint_id
where s.id = $1::bigint
and s.event_type is not null;
