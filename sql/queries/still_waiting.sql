-- Which of some deliveries still wait, and whether they have expired, by the clock that
-- postrider.expire_waiting goes by.
--   $1 bigint[]: messages   $2 integer[]: their targets
-- Index: deferred_pkey.
select
    d.message_id, d.target, coalesce(d.expires_at <= clock_timestamp(), false) as has_expired
from unnest($1::bigint[], $2::integer[]) c (message_id, target)
join postrider.deferred d on d.message_id = c.message_id and d.target = c.target;
