-- postrider.append_position(from, tick, xid, message_id, acknowledged_count, fetched_at) → its seq
--
-- Internal: whoever holds the partition's lock. Moves a partition of a consumer on from where it is. What
-- an acknowledge leaves of the messages that begin_batch suspects stays suspected. Uses
-- consumer_attempt_newest, consumer_position_newest.
--
-- The row that it moves from goes in the same transaction, so there is one for each partition whether a dispatcher
-- runs or not. Nobody else touches it meanwhile: it is the newest that others see.
create or replace function postrider.append_position(
    p_from postrider.consumer_position,
    p_tick bigint,
    p_xid xid8,
    p_message_id bigint,
    p_acknowledged_count bigint,
    p_fetched_at timestamptz)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    new_seq bigint;
begin
    insert into postrider.consumer_position (
        consumer_id, partition, tick, xid, message_id, generation, message_count, suspect_count,
        fetched_at, acknowledged_at)
    select
        p_from.consumer_id, p_from.partition, p_tick, p_xid, p_message_id,
        p_from.generation, p_from.message_count + p_acknowledged_count,
        greatest(
            p_from.suspect_count, (
                select a.suspect_count
                from postrider.newest_attempt(p_from.consumer_id, p_from.partition) a
                where a.generation = p_from.generation
                and a.message_count = p_from.message_count
                and p_acknowledged_count > 0
            )),
        coalesce(p_fetched_at, p_from.fetched_at),
        case when p_acknowledged_count > 0 then clock_timestamp() else p_from.acknowledged_at end
    returning seq into new_seq;
    delete from postrider.consumer_position p
    where p.consumer_id = p_from.consumer_id
    and p.partition = p_from.partition
    and p.seq = p_from.seq;
    return new_seq;
end;
$$;
