-- postrider.note_fetch(consumer_id, partition)
--
-- Internal: fetch_messages, when it found nothing in a partition that it holds. Notes every few seconds
-- that the consumer has looked. Uses consumer_position_newest.
create or replace function postrider.note_fetch(p_consumer_id integer, p_partition integer)
returns void
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    select postrider.append_position(p, p.tick, p.xid, p.message_id, 0, clock_timestamp())
    from postrider.newest_position(p_consumer_id, p_partition) p
    where p.fetched_at is null
    or p.fetched_at < clock_timestamp() - interval '10 seconds';
$$;
