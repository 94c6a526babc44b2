-- How long a dispatcher's lease is.
-- Index: setting_pkey.
select (s.value::double precision * 1000)::bigint as lease_ms
from postrider.setting s
where s.name = 'stale_recovery_timeout';
