-- postrider.is_copy() → whether the rows in this schema were copied from another database
--
-- Internal, by whoever hands something out. Cheap: what a restored dump and `create database … template` change for
-- certain. What it cannot see foreign_sign sees, before a dispatcher delivers.
create or replace function postrider.is_copy()
returns boolean
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select not exists (
        select
        from postrider.identity i
        where i.relation_oid = i.tableoid
        and i.database_oid = (select d.oid from pg_database d where d.datname = current_database())
    );
$$;
