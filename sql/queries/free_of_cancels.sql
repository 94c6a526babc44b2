-- Those of these messages of which no cancellation is under way. What the log has forgotten nobody can cancel any more.
--   $1 bigint[]: messages
-- Index: message_id.
with free as materialized (
    select m.id
    from postrider.message m
    where m.id = any ($1)
    for key share skip locked
)
select c.id
from unnest($1) c (id)
where c.id in (select f.id from free f)
or not exists (
    select
    from postrider.message k
    where k.id >= c.id
    and k.id <= c.id
    order by k.id
    limit 1
);
