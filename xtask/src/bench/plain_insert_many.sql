-- $1 smallint: lane   $2 integer[]: targets   $3 jsonb[]: payloads
insert into plain.message (lane, targets, payload)
select $1, $2, p.payload
from unnest($3::jsonb[]) p (payload)
returning id;
