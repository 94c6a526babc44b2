-- postrider.check_clock() → how well the dispatchers' clocks agree with this database's
--
-- Internal, by health_check. Degraded from 5 s on, unhealthy from 60 s on. Leases, retries and schedules
-- go by the database's clock; what receivers see of time is a dispatcher's.
create or replace function postrider.check_clock()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        case
            when abs(worst.seconds) >= 60 then 'unhealthy'
            when abs(worst.seconds) >= 5 then 'degraded'
            else 'healthy'
        end,
        case
            when worst.seconds is null then 'no live dispatcher has compared its clock with ours yet'
            else format(
                'the clock of host %s is %s s %s the database''s', worst.host,
                round(abs(worst.seconds)::numeric, 3),
                case when worst.seconds < 0 then 'behind' else 'ahead of' end)
        end
    from (select) one
    left join lateral (
        select w.host, extract(epoch from w.clock_offset)::double precision as seconds
        from postrider.get_worker_status() w
        where w.clock_offset is not null
        order by abs(extract(epoch from w.clock_offset)) desc
        limit 1
    ) worst on true;
$$;
