-- postrider.endpoint_configs: the config of each endpoint, and which secrets are set, since when
--
-- Admin, operator, monitor. A URL's user, password and query string are masked; of a secret only its name is shown,
-- with the time when it was set, or null where that was before the times were kept.
create or replace view postrider.endpoint_configs as
select
    e.id, e.name as endpoint_name, e.protocol, postrider.masked_config(e.config) as config,
    (
        select jsonb_object_agg(k.key, s.set_at -> k.key)
        from postrider.endpoint_secret s
        cross join lateral jsonb_object_keys(s.config) k (key)
        where s.endpoint_id = e.id
    ) as secrets_set_at
from postrider.endpoints e;
