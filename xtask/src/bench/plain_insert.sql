-- $1 smallint: lane   $2 integer[]: targets   $3 jsonb: payload
insert into plain.message (lane, targets, payload)
values ($1, $2, $3)
returning id;
