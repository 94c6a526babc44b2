-- postrider.check_partitions() → whether rows find their partitions, now and in time to come
--
-- Internal, by health_check. Unhealthy when a current partition is missing or a table is locked; degraded when they exist for
-- less than 14 days to come (7 where a partition holds a day), or when a default partition has rows:
-- a partition for the time of these cannot be made.
create or replace function postrider.check_partitions()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        case
            when bool_or(p.is_missing or p.is_locked) then 'unhealthy'
            when bool_or(p.is_near or p.has_default_rows) then 'degraded'
            else 'healthy'
        end,
        concat_ws(
            '; ',
            case
                when bool_or(p.is_missing) then format(
                    'there is no current partition of %s',
                    string_agg(p.table_name, ', ') filter (where p.is_missing))
                else format(
                    'partitions exist for the next %s',
                    postrider.describe_age(min(extract(epoch from p.horizon))))
            end,
            case
                when bool_or(p.is_locked) then format(
                    'locked, and could not be checked: %s',
                    string_agg(p.table_name, ', ') filter (where p.is_locked))
            end,
            case
                when bool_or(p.has_default_rows) then format(
                    'the default partition of %s has rows',
                    string_agg(p.table_name, ', ') filter (where p.has_default_rows))
            end,
            case
                when bool_or(p.is_missing or p.is_near)
                then 'a dispatcher makes them once a minute, or postrider.maintain_archive_partitions()'
            end)
    from (
        select
            h.table_name, h.horizon, h.has_default_rows,
            h.horizon is null as is_locked, h.horizon <= interval '0' as is_missing,
            h.horizon < case
                when h.width <= interval '25 hours' then interval '7 days'
                else interval '14 days'
            end as is_near
        from postrider.partition_horizons() h
    ) p;
$$;
