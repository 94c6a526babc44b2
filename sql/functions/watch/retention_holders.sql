-- postrider.retention_holders() → the old partitions of the log that are kept for consumers only
--
-- Internal, by health_check. Partitions that the settings would let go, in which every message has ended,
-- and the consumers that have not read them. Looks at the oldest few. Uses what has_read_partition uses.
create or replace function postrider.retention_holders()
returns table (partition_name text, since timestamptz, consumer_name text)
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set timezone = 'UTC'
as $$
declare
    most_partitions constant integer := 6;
    kept_for interval;
    most_days integer;
    old record;
begin
    select make_interval(months => s.value::integer)
    into kept_for
    from postrider.setting s
    where s.name = 'archive_retention_months';
    select s.value::integer into most_days from postrider.setting s where s.name = 'consumer_retention';
    for old in
        select l.name, l.from_at, l.to_at
        from postrider.partitions l
        where l.table_name = 'message'
        and l.to_at <= now() - kept_for
        and (most_days = 0 or l.to_at > now() - make_interval(days => most_days))
        order by l.from_at
        limit most_partitions
    loop
        continue when not postrider.is_partition_finished(
            old.name, old.from_at, old.to_at, postrider.done_before());
        return query
        select old.name, old.to_at + kept_for, c.name
        from postrider.consumer c
        where not postrider.has_read_partition(c, old.name)
        order by c.name;
    end loop;
end;
$$;
