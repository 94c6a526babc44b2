-- Says that it does not sleep any more. $1 queues.
select pg_advisory_unlock_shared(1886352248, hashtext(q.name) & 255) from unnest($1) q (name);
