-- postrider.hold_consumer(consumer)
--
-- Internal: reset_consumer, drop_consumer. Locks all partitions of it and its leases, to the end of the transaction, and
-- waits some seconds for whoever has them; a reader that comes later waits behind us. Raises 55006 (somebody
-- still has one).
create or replace function postrider.hold_consumer(p_consumer postrider.consumer)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '8s'
as $$
declare
    holder integer;
begin
    for k in -1..p_consumer.partition_count - 1 loop
        begin
            perform
            from postrider.consumer_lock l
            where l.consumer_id = p_consumer.id
            and l.partition = k
            for update;
        exception
            when lock_not_available then
                select h.pid
                into holder
                from postrider.consumer_holders() h
                where h.consumer_id = p_consumer.id
                and h.partition = k;
                raise exception 'Consumer ''%'' is held by another transaction', p_consumer.name
                    using errcode = '55006',
                        detail = format(
                            '%s, pid %s',
                            case when k < 0 then 'its leases' else format('partition %s', k) end,
                            coalesce(holder::text, 'unknown')),
                        hint = 'Stop its readers first.';
        end;
    end loop;
end;
$$;
