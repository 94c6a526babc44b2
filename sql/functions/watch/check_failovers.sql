-- postrider.check_failovers() → whether a failover took back what was delivered
--
-- Internal, by health_check. Degraded for 24 h after a dispatcher has found that (confirm_position). Uses rewind_pkey.
create or replace function postrider.check_failovers()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        case when newest.age is null then 'healthy' else 'degraded' end,
        case
            when newest.age is null then 'nothing that was delivered was forgotten in the last 24 h'
            else format(
                '%s ago the server had forgotten commits that may have been delivered, up to %s bytes and about %s message numbers: see the events log.rewound',
                postrider.describe_age(newest.age), newest.lost_bytes, newest.lost_numbers)
        end
    from (select) one
    left join lateral (
        select
            r.lost_bytes, r.lost_numbers,
            greatest(extract(epoch from clock_timestamp() - r.at), 0) as age
        from postrider.rewind r
        where r.at > clock_timestamp() - interval '24 hours'
        order by r.id desc
        limit 1
    ) newest on true;
$$;
