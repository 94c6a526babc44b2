-- The same as endpoints for who may not read a URL that may be a secret.
-- $1: one name, or null for all.
-- Index: none, for all it reads the table, and one name is asked for by hand.
select json_build_object(
    'id', e.id, 'name', e.name, 'protocol', e.protocol, 'enabled', e.enabled, 'paused', e.paused,
    'circuit', c.state, 'config', (select v.config from postrider.endpoint_configs v where v.id = e.id),
    'secrets_set_at', (select v.secrets_set_at from postrider.endpoint_configs v where v.id = e.id), 'retry_policy', e.retry_policy, 'version', e.version, 'created_at', e.created_at,
    'updated_at', e.updated_at)
from postrider.endpoints e
join postrider.circuit c on c.endpoint_id = e.id
where e.name = $1::text
or $1::text is null
order by e.name;
