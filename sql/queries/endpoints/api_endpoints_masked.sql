-- Endpoints by name.
-- $1: behind this one, or null; $2: how many.
-- Index: none, the name's own constraint.
select
    json_build_object(
        'id', e.id, 'name', e.name, 'protocol', e.protocol, 'enabled', e.enabled, 'paused', e.paused,
        'config', (
            select c.config from postrider.endpoint_configs c where c.id = e.id),
        'secrets_set_at', (
            select c.secrets_set_at from postrider.endpoint_configs c where c.id = e.id),
        'retry_policy', e.retry_policy, 'version', e.version, 'created_at', e.created_at,
        'updated_at', e.updated_at) as item,
    e.name::text as key
from postrider.endpoints e
where e.name > coalesce($1::text, '')
order by e.name
limit $2::bigint;
