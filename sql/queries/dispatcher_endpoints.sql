-- Endpoints as a dispatcher needs them: with their secrets merged into the config, and the targets
-- that stand for them.
--   $1 integer[]: ids
-- Indexes: endpoints_pkey, subscriptions_endpoint_id.
select
    e.id, e.name, e.protocol, e.config || coalesce(s.config, '{}') as config, e.retry_policy,
    e.enabled, e.version,
    array(select t.id from postrider.subscriptions t where t.endpoint_id = e.id) as targets
from postrider.endpoints e
left join postrider.endpoint_secret s on s.endpoint_id = e.id
where e.id = any ($1);
