-- Whether another process has the worker's name. $1 worker, $2 our epoch.
select exists (
    select
    from postrider.workers w
    where w.id = $1
    and w.epoch <> $2
    and w.status <> 'inactive'
);
