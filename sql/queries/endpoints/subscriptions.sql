-- $1: an endpoint's name or null, $2: also those that were ended. Without the subscriptions that stand
-- for endpoints themselves.
-- Index: none, it reads the whole table, by hand.
select json_build_object(
    'id', s.id, 'endpoint_name', e.name, 'event_type', s.event_type, 'filter', s.filter,
    'retry_policy', s.retry_policy, 'enabled', s.enabled, 'ended', s.ended_at is not null, 'created_at', s.created_at,
    'ended_at', s.ended_at)
from postrider.subscriptions s
join postrider.endpoints e on e.id = s.endpoint_id
where s.event_type is not null
and (e.name = $1::text or $1::text is null)
and (s.ended_at is null or $2::boolean)
order by s.id;
