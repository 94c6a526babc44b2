-- Endpoints as a dispatcher needs them: with their secrets merged into the config, the targets that
-- stand for them, and the policies of those targets that have one.
--   $1 integer[]: ids
-- Indexes: endpoints_pkey, subscriptions_endpoint_id.
select
    e.id, e.name, e.protocol, e.config || coalesce(s.config, '{}') as config, e.retry_policy,
    e.enabled, e.paused, e.version,
    array(select t.id from postrider.subscriptions t where t.endpoint_id = e.id) as targets,
    array(
        select t.id
        from postrider.subscriptions t
        where t.endpoint_id = e.id
        and t.retry_policy is not null
        order by t.id
    ) as policy_targets,
    array(
        select t.retry_policy
        from postrider.subscriptions t
        where t.endpoint_id = e.id
        and t.retry_policy is not null
        order by t.id
    ) as target_policies
from postrider.endpoints e
left join postrider.endpoint_secret s on s.endpoint_id = e.id
where e.id = any ($1);
