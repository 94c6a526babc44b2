-- Which partitions of a table have not got an index yet that a migration will make a part of its own, or only what is
-- left of one that was not finished.
--   $1 text: the table
--   $2 text: what the names of these indexes end with
-- Index: none, some dozen partitions.
select
    format('%I.%I', n.nspname, p.relname) as partition,
    quote_ident(x.name) as index,
    format('%I.%I', n.nspname, x.name) as index_path,
    i.indexrelid is not null as is_left_over
from pg_partition_tree(to_regclass('postrider.' || quote_ident($1))) t
join pg_class p on p.oid = t.relid
join pg_namespace n on n.oid = p.relnamespace
cross join lateral (
    select left(p.relname, 62 - length($2)) || '_' || $2 as name
) x
left join pg_class c on c.relnamespace = p.relnamespace and c.relname = x.name
left join pg_index i on i.indexrelid = c.oid
where t.isleaf
and not pg_is_in_recovery()
and (i.indexrelid is null or not i.indisvalid)
order by p.relname;
