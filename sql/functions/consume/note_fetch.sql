-- postrider.note_fetch(consumer_id, partition)
--
-- Internal: fetch_messages, when it found nothing in a partition. Notes every few seconds that the consumer
-- has looked, unless somebody else reads it. Uses consumer_position_newest.
create or replace function postrider.note_fetch(p_consumer_id integer, p_partition integer)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    sign_of_life constant interval := '10 seconds';
begin
    perform
    from postrider.newest_position(p_consumer_id, p_partition) p
    where p.fetched_at between clock_timestamp() - sign_of_life and clock_timestamp();
    if not found and postrider.has_consumer_lock(p_consumer_id, p_partition) then
        -- Not before the lock: it may have moved.
        perform postrider.append_position(p, p.tick, p.xid, p.message_id, 0, clock_timestamp())
        from postrider.newest_position(p_consumer_id, p_partition) p;
    end if;
end;
$$;
