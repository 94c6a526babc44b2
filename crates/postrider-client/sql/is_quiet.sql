-- Whether nobody is submitting to these queues at this moment. $1 queues.
select bool_and(
    case
        when pg_try_advisory_lock(1886352247, hashtext(q.name) & 255)
            then pg_advisory_unlock(1886352247, hashtext(q.name) & 255)
        else false
    end)
from unnest($1) q (name);
