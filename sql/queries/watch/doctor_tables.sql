-- Our tables with many dead rows. Index: none, catalogs only.
select json_build_object(
    'name', s.relname, 'dead_count', s.n_dead_tup, 'live_count', s.n_live_tup,
    'vacuumed_at', greatest(s.last_vacuum, s.last_autovacuum),
    'bytes', pg_relation_size(s.relid))
from pg_stat_all_tables s
where s.schemaname = 'postrider'
and s.n_dead_tup >= $1::bigint
and s.n_dead_tup * 5 >= s.n_live_tup
order by s.n_dead_tup desc
limit 20;
