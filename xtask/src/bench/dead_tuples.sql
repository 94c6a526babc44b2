-- Dead row versions in a schema.  $1 name: schema
select coalesce(sum(t.n_dead_tup), 0)::bigint
from pg_stat_all_tables t
where t.schemaname = $1;
