-- The cancellations that are neither committed nor rolled back: postrider.cancel_lock of each.
select l.objid::bigint as number
from pg_locks l
where l.locktype = 'advisory'
and l.classid = 1886352245
and l.objsubid = 2
and l.database = (select d.oid from pg_database d where d.datname = current_database());
