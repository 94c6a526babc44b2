-- postrider.has_consumer_lock(consumer_id, partition) → whether this transaction has the partition's lock
--
-- Internal: takes it, to the end of the transaction, unless somebody else has it or the consumer is dropped.
-- A lock gives the transaction an id, so who polls looks before whether there is anything to do
-- (is_partition_behind).
create or replace function postrider.has_consumer_lock(p_consumer_id integer, p_partition integer)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    perform
    from postrider.consumer_lock l
    where l.consumer_id = p_consumer_id
    and l.partition = p_partition
    for update skip locked;
    return found;
end;
$$;
