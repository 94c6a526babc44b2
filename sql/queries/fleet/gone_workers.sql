-- Those of these workers that are there no longer. An id is never used again. $1 ids.
-- Index: worker_pkey.
select g.id
from unnest($1::integer[]) g (id)
where not exists (
    select
    from postrider.worker w
    where w.id = g.id
);
