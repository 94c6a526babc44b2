-- $1: its name. With its partitions, 64 at most.
-- Index: none, the name's own constraint.
select
    json_build_object(
        'id', c.id, 'name', c.name, 'ordering', c.ordering, 'event_types', c.event_types, 'filter', c.filter,
        'partition_count', c.partition_count, 'channel', 'postrider:' || c.name, 'created_at', c.created_at,
        'partitions', array(
            select json_build_object(
                    'partition', p.partition, 'position', p.position, 'tick', p.tick, 'message_count', p.message_count,
                    'lag_messages', p.lag_messages, 'lag_seconds', p.lag_seconds, 'last_fetched_at', p.last_fetched_at,
                    'last_acknowledged_at', p.last_acknowledged_at, 'holder_pid', p.holder_pid,
                    'holder_since', p.holder_since, 'holder_application', p.holder_application, 'leased_to', p.leased_to,
                    'lease_until', p.lease_until, 'parked_count', p.parked_count, 'waits_since', p.waits_since,
                    'waits_for_pid', p.waits_for_pid, 'waits_for_gid', p.waits_for_gid, 'waits_for_age', p.waits_for_age,
                    'waits_for_query', p.waits_for_query)
            from postrider.consumers p
            where p.id = c.id
            order by p.partition)) as item
from postrider.consumer c
where c.name = $1::text;
