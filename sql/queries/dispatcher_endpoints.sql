-- Endpoints as a dispatcher needs them: with their secrets merged into the config.
--   $1 integer[]: ids
-- Index: endpoints_pkey.
select
    e.id, e.name, e.protocol, e.config || coalesce(s.config, '{}') as config, e.retry_policy,
    e.enabled, e.direct_subscription_id, e.version
from postrider.endpoints e
left join postrider.endpoint_secret s on s.endpoint_id = e.id
where e.id = any ($1);
