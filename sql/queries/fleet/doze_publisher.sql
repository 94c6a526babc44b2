-- Says that the publisher is about to sleep at these queues: whoever puts something there rings
-- (ring_workers). False where it could not, and has to look again: any login may hold this lock, so nobody
-- waits for it. doorbell_unlock.sql says that it does not sleep any more. $1 queues.
select coalesce(bool_and(pg_try_advisory_lock_shared(1886352248, d.door)), true) as is_said
from (
    select distinct hashtext(q.name) & 255
    from unnest($1::text[]) q (name)
) d (door);
