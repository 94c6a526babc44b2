-- postrider.needs_archive_upkeep() → whether partitions are to be made or dropped
--
-- Internal, by a dispatcher once a minute. Catalogs only, and a look into the default partitions, so
-- that nothing is locked and no connection made when there is nothing to do.
create or replace function postrider.needs_archive_upkeep()
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return exists (select from postrider.missing_partitions(postrider.partition_months_ahead()))
        or exists (
            select
            from postrider.partitions l
            where l.to_at <= now() - make_interval(months => (
                select s.value::integer
                from postrider.setting s
                where s.name = 'archive_retention_months'
            ))
        );
end;
$$;
