-- $1 integer: endpoint   $2 jsonb: payload
insert into classic.queue (endpoint_id, payload)
values ($1, $2)
returning id;
