-- $1: its name.
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
    format('%s-%s', e.id, e.version) as etag
from postrider.endpoints e
where e.name = $1::text;
