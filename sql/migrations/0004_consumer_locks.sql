-- Locks of consumers are rows: any login may take any advisory lock, and nobody has a right to these but
-- through our functions.

-- Who reads a partition of a consumer holds its row (for update) to the end of the transaction; who leases
-- partitions or gives them up, that of partition -1. Made and dropped with the consumer; nobody changes one.
create table postrider.consumer_lock (
    consumer_id integer not null,
    partition smallint not null check (partition between -1 and 63),
    primary key (consumer_id, partition)
);
-- Nobody goes on acknowledging under a lock of the former kind.
lock table postrider.consumer, postrider.consumer_position in share row exclusive mode;
insert into postrider.consumer_lock (consumer_id, partition)
select c.id, g.partition
from postrider.consumer c
cross join lateral generate_series(-1, c.partition_count - 1) g (partition);
-- A new database never had it.
do $do$
begin
    if to_regprocedure('postrider.consumer_lock(integer, integer)') is not null then
        drop function postrider.consumer_lock(integer, integer);
    end if;
end;
$do$;
