-- postrider.check_schedules() → whether schedules fire
--
-- Internal, by health_check. Degraded: some fail, or are due for more than a minute and nobody fires them. Paused ones do not
-- count. Index: none, there are 1,000 at most.
create or replace function postrider.check_schedules()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    with late as (
        select s.name, s.failed_since, s.next_at, s.last_error_code
        from postrider.schedule s
        where s.paused_at is null
        and (s.failed_since is not null or s.next_at < clock_timestamp() - interval '1 minute')
    )
    select
        case when count(*) > 0 then 'degraded' else 'healthy' end,
        case
            when count(*) > 0
            then format('%s of %s schedules do not fire: %s', count(*), (
                select count(*)
                from postrider.schedule
            ), (
                select string_agg(
                    case
                        when n.failed_since is not null
                        then format(
                            '%s has failed for %s (%s)', n.name, n.failed_age, n.last_error_code)
                        else format('%s has been due for %s', n.name, n.due_age)
                    end,
                    ', ' order by n.name)
                from (
                    select
                        l.name, l.failed_since, l.last_error_code,
                        postrider.describe_age(extract(epoch from n.at - l.failed_since)::double precision)
                            as failed_age,
                        postrider.describe_age(extract(epoch from n.at - l.next_at)::double precision)
                            as due_age
                    from late l
                    cross join (select clock_timestamp()) n (at)
                    order by l.name
                    limit 3
                ) n
            ))
            when exists (select from postrider.schedule) then 'all schedules that are not paused fire in time'
            else 'there are no schedules'
        end
    from late;
$$;
