-- postrider.note_page(consumer_id, partition, seq, tick, xid, id, count, is_end) → true
--
-- Internal: read_partition. Notes what it has handed out: the position it was read from (seq), the last
-- message, how many there are, and whether there is nothing more in its tick. See fetched_batches.
create or replace function postrider.note_page(
    p_consumer_id integer,
    p_partition integer,
    p_seq bigint,
    p_tick bigint,
    p_xid xid8,
    p_id bigint,
    p_count bigint,
    p_is_end boolean)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    perform set_config(
        format('postrider.fetched_%s_%s', p_consumer_id, p_partition),
        array[
            p_seq::text, p_tick::text, p_xid::text, p_id::text, p_count::text,
            clock_timestamp()::text, coalesce(p_is_end, false)::text
        ]::text,
        true);
    return true;
end;
$$;
