-- postrider.consumers: every partition of every consumer, and how far it is
--
-- Admin, operator, application, monitor. Costs the same at any backlog: see postrider.consumer_lag.
create or replace view postrider.consumers as
with holders as materialized (
    select h.consumer_id, h.partition, h.pid, h.since, h.application_name
    from postrider.consumer_holders() h
), leases as materialized (
    select n.consumer_id, n.member, n.partitions, n.lease_until
    from (
        select distinct on (l.consumer_id, l.member)
            l.consumer_id, l.member, l.partitions, l.lease_until
        from postrider.consumer_lease l
        order by l.consumer_id, l.member, l.seq desc
    ) n
    where n.lease_until > clock_timestamp()
)
select
    c.id, c.name, c.ordering, c.event_types, c.filter, g.partition,
    c.partition_count::integer as partition_count, 'postrider:' || c.name as channel,
    r.position, r.tick, r.message_count, r.lag_messages, r.lag_seconds, r.last_fetched_at,
    r.last_acknowledged_at, h.pid as holder_pid, h.since as holder_since,
    h.application_name as holder_application, l.member as leased_to, l.lease_until, r.parked_count,
    r.waits_since, r.waits_for_pid, r.waits_for_gid, r.waits_for_age, r.waits_for_query, c.created_at
from postrider.consumer c
cross join lateral generate_series(0, c.partition_count - 1) g (partition)
cross join lateral postrider.consumer_report(c.id, g.partition) r
left join holders h on h.consumer_id = c.id and h.partition = g.partition
left join lateral (
    select e.member, e.lease_until
    from leases e
    where e.consumer_id = c.id
    and g.partition = any (e.partitions)
    order by e.lease_until desc
    limit 1
) l on true;
