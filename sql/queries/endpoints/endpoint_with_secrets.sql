-- An endpoint as a dispatcher opens it. Only who delivers may read its secrets.
--   $1 text: its name
-- Index: none, a command by hand; the name is unique.
select e.protocol, e.config || coalesce(s.config, '{}') as config
from postrider.endpoints e
left join postrider.endpoint_secret s on s.endpoint_id = e.id
where e.name = $1::text;
