-- postrider.lock_leases(consumer)
--
-- Internal: lease_partitions, release_partitions. One after the other, to the end of the transaction. Waits
-- some seconds. Raises 25001 (isolation level), 55006 (somebody's transaction still has it).
create or replace function postrider.lock_leases(p_consumer postrider.consumer)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    deadline constant timestamptz := clock_timestamp() + interval '5 seconds';
begin
    -- An older snapshot does not see what others have got since.
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception 'leases need a transaction with isolation level READ COMMITTED, this is %',
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    while not postrider.has_consumer_lock(p_consumer.id, -1) loop
        -- Dropped meanwhile.
        p_consumer := postrider.known_consumer(p_consumer.name);
        if clock_timestamp() > deadline then
            raise exception 'Leases of consumer ''%'' are held by another transaction', p_consumer.name
                using errcode = '55006';
        end if;
        perform pg_sleep(0.01);
    end loop;
end;
$$;
