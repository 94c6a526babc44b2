-- postrider.partitions: every partition of the log and of what is recorded of it
--
-- Admin, operator, monitor. `from_at` (included) and `to_at` (excluded) are null for a default partition;
-- `time_column` is what the table is partitioned by. Catalogs only.
create or replace view postrider.partitions as
select
    c.relname::text as name, p.relname::text as table_name, a.attname::text as time_column,
    b.bounds[1]::timestamptz as from_at, b.bounds[2]::timestamptz as to_at
from pg_catalog.pg_class p
join pg_catalog.pg_partitioned_table k on k.partrelid = p.oid
join pg_catalog.pg_attribute a on a.attrelid = p.oid and a.attnum = k.partattrs[0]
join pg_catalog.pg_inherits i on i.inhparent = p.oid
join pg_catalog.pg_class c on c.oid = i.inhrelid
left join lateral regexp_match(
    pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']+)''\) TO \(''([^'']+)''\)')
    b (bounds) on true
where p.relnamespace = 'postrider'::regnamespace
and p.relname in ('message', 'done', 'partly_done', 'ended', 'attempt', 'tick');
