-- postrider.consumer_lock(consumer_id, partition) → the second number of its advisory lock
--
-- Internal. Who has the lock (1886352245, this) reads the partition, until its transaction ends.
create or replace function postrider.consumer_lock(p_consumer_id integer, p_partition integer)
returns integer
language sql
immutable
parallel safe
as $$
    select p_consumer_id * 64 + p_partition;
$$;
