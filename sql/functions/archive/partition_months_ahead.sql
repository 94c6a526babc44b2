-- postrider.partition_months_ahead() → how far ahead partitions are made without anybody asking
--
-- Internal: three months, and with partitions of a day none but the next days, so that there are not
-- hundreds of empty tables.
create or replace function postrider.partition_months_ahead()
returns integer
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select case s.value when 'day' then 0 else 3 end
    from postrider.setting s
    where s.name = 'partition_interval';
$$;
