-- Says that a worker is about to sleep at these queues. $1 queues.
select pg_advisory_lock_shared(1886352248, hashtext(q.name) & 255) from unnest($1) q (name);
