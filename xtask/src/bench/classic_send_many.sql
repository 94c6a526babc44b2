-- $1 integer: endpoint   $2 jsonb[]: payloads
insert into classic.queue (endpoint_id, payload)
select $1, p.payload
from unnest($2::jsonb[]) p (payload)
returning id;
