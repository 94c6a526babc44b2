-- postrider.hold_consumer(consumer)
--
-- Internal: reset_consumer, drop_consumer. Locks all partitions of it, to the end of the transaction, and
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
    for k in 0..p_consumer.partition_count - 1 loop
        begin
            perform pg_advisory_xact_lock(1886352245, postrider.consumer_lock(p_consumer.id, k));
        exception
            when lock_not_available then
                select h.pid
                into holder
                from postrider.consumer_holders() h
                where h.consumer_id = p_consumer.id
                and h.partition = k;
                raise exception 'Consumer ''%'' is held by another transaction', p_consumer.name
                    using errcode = '55006',
                        detail = format('partition %s, pid %s', k, coalesce(holder::text, 'unknown')),
                        hint = 'Stop its readers first.';
        end;
    end loop;
end;
$$;
