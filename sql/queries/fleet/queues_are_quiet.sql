-- Whether nobody is putting something into these queues at this moment. $1 queues.
select coalesce(bool_and(
    case
        when pg_try_advisory_lock(1886352247, d.door)
            then pg_advisory_unlock(1886352247, d.door)
        else false
    end), true) as is_quiet
from (
    select distinct hashtext(q.name) & 255
    from unnest($1::text[]) q (name)
) d (door);
