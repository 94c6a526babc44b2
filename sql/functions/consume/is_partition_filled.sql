-- postrider.is_partition_filled(consumer, partition, is_patient) → whether it has messages for the consumer
--
-- Internal: begin_batch, which holds the partition's lock. Passes what the consumer does not want, for some
-- hundred milliseconds or one step, and moves the position on; then what it wants is among the next that
-- fetch_messages looks at. Uses what consumer_messages uses.
create or replace function postrider.is_partition_filled(
    p_consumer postrider.consumer, p_partition integer, p_is_patient boolean)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    look constant integer := 10000;
    tick_look constant integer := 2000;
    deadline constant timestamptz :=
        clock_timestamp() + case when p_is_patient then interval '500 milliseconds' else '0' end;
    known postrider.consumer_position;
    moved postrider.consumer_position;
    ahead record;
    to_xid xid8;
begin
    select p.* into known from postrider.newest_position(p_consumer.id, p_partition) p;
    loop
        if postrider.is_at_end(known) then
            return false;
        end if;
        select n.to_tick, n.tick_count, n.span
        into ahead
        from postrider.next_ticks(known.tick, known.message_id, tick_look) n;
        if known.tick is not null and ahead.tick_count = 0 then
            return false;
        end if;
        to_xid := pg_snapshot_xmin(pg_current_snapshot());
        if exists (
            select
            from postrider.consumer_messages(
                p_consumer, p_partition, known.tick, known.xid, known.message_id, ahead.to_tick, look,
                ahead.span, to_xid)
        ) then
            return true;
        end if;
        moved := postrider.pass_unwanted(known, ahead.to_tick, ahead.span, look, to_xid);
        if moved.seq = known.seq or clock_timestamp() >= deadline then
            return false;
        end if;
        known := moved;
    end loop;
end;
$$;
