-- postrider.pass_unwanted(position, to_tick, span, look, to_xid) → the position behind what was looked at
--
-- Internal: read_partition and is_partition_filled, which hold the partition's lock and have found nothing
-- that the consumer wants among the next `look` messages up to this tick or below this transaction. Writes
-- down that these are passed, so that nobody walks over them again. The same position when there is nothing
-- to pass. Uses what tick_messages and transaction_messages use.
create or replace function postrider.pass_unwanted(
    p_position postrider.consumer_position,
    p_to_tick bigint,
    p_span postrider.tick_span,
    p_look integer,
    p_to_xid xid8)
returns postrider.consumer_position
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    last_id constant bigint := 9223372036854775807;
    moved postrider.consumer_position := p_position;
    cut record;
begin
    if p_position.xid is null then
        select t.tick, null::xid8 as xid, t.id
        into cut
        from postrider.tick_messages(
            p_position.tick, p_position.message_id, p_to_tick, p_look, p_span) t
        offset p_look - 1;
    else
        select null::bigint as tick, x.xid, x.id
        into cut
        from postrider.transaction_messages(
            p_position.xid, p_position.message_id, p_look, p_to_xid) x
        order by x.xid desc, x.id desc
        limit 1;
    end if;
    if cut.id is not null or (p_to_tick, last_id) > (p_position.tick, p_position.message_id) then
        perform postrider.append_position(
            p_position, case when p_position.tick is not null then coalesce(cut.tick, p_to_tick) end,
            cut.xid, coalesce(cut.id, last_id), 0, clock_timestamp());
        select p.*
        into strict moved
        from postrider.newest_position(p_position.consumer_id, p_position.partition) p;
    end if;
    return moved;
end;
$$;
