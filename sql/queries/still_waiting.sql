-- Which of some deliveries still wait.
--   $1 bigint[]: messages   $2 integer[]: their targets
-- Index: deferred_pkey.
select d.message_id, d.target
from unnest($1::bigint[], $2::integer[]) c (message_id, target)
join postrider.deferred d on d.message_id = c.message_id and d.target = c.target;
