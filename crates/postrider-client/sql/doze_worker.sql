-- Says that a worker is about to sleep at these queues; false where it could not, and has to look again: any
-- login may hold this lock, so nobody waits for it. $1 queues.
select bool_and(pg_try_advisory_lock_shared(1886352248, hashtext(q.name) & 255))
from unnest($1) q (name);
