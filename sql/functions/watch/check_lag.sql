-- postrider.check_lag() → whether everything is attempted in time, and what there is to say
--
-- Internal, by health_check. The age of the oldest delivery that could have been attempted and was not
-- (overdue_deliveries): degraded from 60 s on, unhealthy from 600 s on unless something was attempted at
-- that endpoint within the last minute: then it is slow, and others need not be.
create or replace function postrider.check_lag()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        case
            when o.stuck_age >= 600 then 'unhealthy'
            when o.age >= 60 then 'degraded'
            else 'healthy'
        end,
        case
            when o.age is null then 'nothing is overdue'
            else format(
                'the oldest delivery that could have been attempted has waited for %s (endpoint %s, %s); endpoints that are behind by a minute or more: %s',
                postrider.describe_age(o.age), o.endpoint_name, o.kind, o.behind_count)
        end
    from (
        select
            max(d.age) as age, max(d.age) filter (where not d.is_moving) as stuck_age,
            (array_agg(d.endpoint_name order by d.age desc))[1] as endpoint_name,
            (array_agg(d.kind order by d.age desc))[1] as kind,
            count(*) filter (where d.age >= 60) as behind_count
        from (
            select
                v.endpoint_name, v.kind, v.is_moving,
                greatest(extract(epoch from clock_timestamp() - v.since), 0) as age
            from postrider.overdue_deliveries() v
        ) d
    ) o;
$$;
