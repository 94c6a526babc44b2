-- postrider.is_partition_unread(consumer, partition, look) → whether it is worth to be read
--
-- Internal: fetch_messages, to choose a partition before it locks one. Whether there is a message that
-- the consumer wants among the next so many, or more than so many altogether. Uses what
-- consumer_messages uses.
create or replace function postrider.is_partition_unread(
    p_consumer postrider.consumer, p_partition integer, p_look integer)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    tick_look constant integer := 2000;
    known postrider.consumer_position;
    ahead record;
begin
    select p.* into known from postrider.newest_position(p_consumer.id, p_partition) p;
    if postrider.is_at_end(known) then
        return false;
    end if;
    select n.to_tick, n.tick_count, n.span
    into ahead
    from postrider.next_ticks(known.tick, known.message_id, tick_look) n;
    if known.tick is not null and ahead.tick_count = 0 then
        return false;
    end if;
    return ahead.tick_count = tick_look
        or exists (
            select
            from postrider.consumer_messages(
                p_consumer, p_partition, known.tick, known.xid, known.message_id,
                ahead.to_tick, p_look, ahead.span)
        )
        or exists (
            select
            from postrider.tick_messages(
                known.tick, known.message_id, ahead.to_tick, p_look, ahead.span)
            offset p_look - 1
        )
        or exists (
            select
            from postrider.transaction_messages(known.xid, known.message_id, p_look)
            offset p_look - 1
        );
end;
$$;
