-- Says that the publisher is about to sleep at these queues: whoever puts something there rings
-- (ring_workers). doorbell_unlock.sql says that it does not sleep any more. $1 queues.
select pg_advisory_lock_shared(1886352248, d.door)
from (
    select distinct hashtext(q.name) & 255
    from unnest($1::text[]) q (name)
) d (door);
