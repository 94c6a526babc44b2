-- $1 integer: endpoint   $2 integer: how many messages   $3 jsonb: payload
insert into classic.queue (endpoint_id, payload)
select $1, $3
from generate_series(1, $2) s (number);
