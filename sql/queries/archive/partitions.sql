-- The partitions of the log and of what is recorded, the oldest first, with rows as the statistics have
-- them. Index: none, catalogs only.
select json_build_object(
    'name', l.name, 'table', l.table_name, 'from_at', l.from_at, 'to_at', l.to_at,
    'rows', greatest(c.reltuples, 0)::bigint, 'bytes', pg_total_relation_size(c.oid))
from postrider.partitions l
join pg_catalog.pg_class c on c.oid = to_regclass('postrider.' || quote_ident(l.name))
order by l.from_at nulls last, l.table_name, l.name;
