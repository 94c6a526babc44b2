-- A row for each partition. Index: none, the view has its own.
select json_build_object(
    'id', c.id, 'name', c.name, 'ordering', c.ordering, 'event_types', c.event_types,
    'filter', c.filter, 'partition', c.partition, 'partition_count', c.partition_count,
    'channel', c.channel, 'position', c.position, 'tick', c.tick, 'message_count', c.message_count,
    'lag_messages', c.lag_messages, 'lag_seconds', c.lag_seconds, 'last_fetched_at', c.last_fetched_at,
    'last_acknowledged_at', c.last_acknowledged_at, 'holder_pid', c.holder_pid,
    'holder_since', c.holder_since, 'holder_application', c.holder_application,
    'leased_to', c.leased_to, 'lease_until', c.lease_until, 'parked_count', c.parked_count,
    'waits_since', c.waits_since, 'waits_for_pid', c.waits_for_pid, 'waits_for_gid', c.waits_for_gid,
    'waits_for_age', c.waits_for_age, 'waits_for_query', c.waits_for_query, 'created_at', c.created_at)
from postrider.consumers c
order by c.name, c.partition;
