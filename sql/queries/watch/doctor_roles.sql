-- Which of our roles there are not, and whether everybody may use the schema.
-- Index: none, catalogs only, and a table of one row.
select json_build_object(
    'missing', (
        select coalesce(json_agg(w.name order by w.rank), '[]')
        from postrider.installation i
        cross join unnest(
            array['producer', 'consumer', 'worker', 'monitor', 'application', 'operator', 'admin'])
            with ordinality k (kind, rank)
        cross join lateral (select i.role_prefix || '_' || k.kind as name, k.rank) w
        where not exists (select from pg_roles r where r.rolname = w.name)
    ),
    'is_public', (
        select exists (
            select
            from pg_namespace n
            cross join lateral aclexplode(n.nspacl) a
            where n.nspname = 'postrider'
            and a.grantee = 0
        )
    ));
