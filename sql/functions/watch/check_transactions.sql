-- postrider.check_transactions() → whether something in the cluster keeps vacuum from cleaning up
--
-- Internal, by health_check. The oldest transaction of the cluster, prepared ones included: degraded
-- from an hour on, unhealthy from a day on. Replication slots hold back vacuum, too, and have no age in
-- time: degraded from 10 million transactions on. Says what to grant when sessions cannot be seen.
create or replace function postrider.check_transactions()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        case
            when t.age >= 86400 then 'unhealthy'
            when t.age >= 3600 or s.age >= 10000000 then 'degraded'
            else 'healthy'
        end,
        concat_ws(
            '; ',
            case
                when t.age is null then 'no other transaction is open'
                else format(
                    'the oldest transaction is %s old: %s', postrider.describe_age(t.age),
                    concat_ws(
                        ', ', coalesce('pid ' || t.pid, format('prepared transaction ''%s''', t.gid)),
                        'database ' || t.database, t.state,
                        'application ' || nullif(t.application_name, '')))
            end,
            case
                when s.slot_name is not null then format(
                    'replication slot %s (%s) holds back vacuum by %s transactions', s.slot_name,
                    case when s.active then 'in use' else 'not in use' end, s.age)
            end,
            case
                when h.hidden_count > 0 then format(
                    '%s sessions cannot be seen: grant pg_read_all_stats to %I', h.hidden_count,
                    current_user)
            end)
    from (select) one
    left join lateral postrider.open_transactions(1) t on true
    left join lateral (
        select
            r.slot_name, r.active,
            greatest(coalesce(age(r.xmin), 0), coalesce(age(r.catalog_xmin), 0)) as age
        from pg_replication_slots r
        where r.xmin is not null
        or r.catalog_xmin is not null
        order by 3 desc
        limit 1
    ) s on true
    cross join (
        select count(*) as hidden_count
        from pg_stat_activity a
        where a.query = '<insufficient privilege>'
    ) h;
$$;
