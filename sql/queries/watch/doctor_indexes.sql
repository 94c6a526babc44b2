-- Indexes that are to be there ($1: their names) and are not, and those that cannot be used.
-- Index: none, catalogs only.
select json_build_object(
    'missing', (
        select coalesce(json_agg(u.name order by u.name), '[]')
        from unnest($1::text[]) u (name)
        where not exists (
            select
            from pg_class c
            join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'postrider'
            and c.relname = u.name
            and c.relkind in ('i', 'I')
        )
    ),
    'invalid', (
        select coalesce(json_agg(c.relname order by c.relname), '[]')
        from pg_index i
        join pg_class c on c.oid = i.indexrelid
        join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'postrider'
        and not i.indisvalid
    ));
