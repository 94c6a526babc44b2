-- Puts a consumer before this tick, or behind this message of it.
--   $1 text: consumer   $2 bigint: tick   $3 bigint: message id
insert into postrider.consumer_position (
    consumer_id, partition, tick, xid, message_id, message_count)
select
    c.id, g.partition, case when c.ordering = 'commit' then t.id end,
    case when c.ordering = 'transaction' then t.base_xmax end, $3, 0
from postrider.consumer c
cross join generate_series(0, c.partition_count - 1) g (partition)
cross join postrider.tick t
where c.name = $1
and t.id = $2;
