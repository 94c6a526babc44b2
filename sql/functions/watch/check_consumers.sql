-- postrider.check_consumers() → whether consumers get on, and what there is to say
--
-- Internal, by health_check. Degraded when one keeps old partitions of the log from being dropped, when
-- one with ordering `transaction` has waited for 5 minutes for a transaction, and when a transaction has held a
-- consumer for an hour.
create or replace function postrider.check_consumers()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    with found (place, details) as (
        select
            1,
            format(
                'consumer %s has not read partition %s, which would have been dropped %s ago',
                k.consumer_name, k.partition_name,
                postrider.describe_age(extract(epoch from clock_timestamp() - k.since)))
        from (
            select distinct on (h.consumer_name) h.consumer_name, h.partition_name, h.since
            from postrider.retention_holders() h
            order by h.consumer_name, h.since
        ) k
        union all
        select
            2,
            format(
                'consumer %s has waited for %s for %s', w.name,
                postrider.describe_age(extract(epoch from clock_timestamp() - w.waits_since)),
                concat_ws(
                    ', ',
                    coalesce(
                        'pid ' || w.waits_for_pid,
                        format('prepared transaction %L', w.waits_for_gid),
                        'a transaction'),
                    'open for ' || postrider.describe_age(
                        extract(epoch from w.waits_for_age))))
        from (
            select distinct on (c.name)
                c.name, c.waits_since, c.waits_for_pid, c.waits_for_gid, c.waits_for_age
            from postrider.consumers c
            where c.ordering = 'transaction'
            and c.waits_since <= clock_timestamp() - interval '5 minutes'
            order by c.name, c.waits_since
        ) w
        union all
        select
            3,
            format(
                '%s holds consumer %s for %s',
                coalesce('pid ' || h.pid, format('prepared transaction %L', h.gid)), c.name,
                postrider.describe_age(extract(epoch from clock_timestamp() - h.since)))
        from (
            select distinct on (o.consumer_id) o.consumer_id, o.pid, o.gid, o.since
            from postrider.consumer_holders() o
            where o.since <= clock_timestamp() - interval '1 hour'
            order by o.consumer_id, o.since
        ) h
        join postrider.consumer c on c.id = h.consumer_id
    )
    select
        case when f.found_count > 0 then 'degraded' else 'healthy' end,
        case
            when f.found_count > 0 then f.details
            when c.consumer_count = 0 then 'there are no consumers'
            else format(
                'consumers: %s; none is kept from reading, or keeps old partitions', c.consumer_count)
        end
    from (
        select
            count(*) as found_count,
            string_agg(n.details, '; ' order by n.place, n.details) as details
        from found n
    ) f
    cross join (select count(*) as consumer_count from postrider.consumer) c;
$$;
