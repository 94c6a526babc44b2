-- postrider.is_partition_behind(consumer_id, partition) → whether anything is new there, wanted or not
--
-- Internal: fetch_messages and begin_batch, before they take the partition's lock: who reads it then passes
-- something at least. Uses what next_ticks and transaction_messages use.
create or replace function postrider.is_partition_behind(p_consumer_id integer, p_partition integer)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    sign_of_life constant interval := '10 seconds';
    known postrider.consumer_position;
begin
    select p.* into known from postrider.newest_position(p_consumer_id, p_partition) p;
    -- Now and then it is looked for all the same.
    if postrider.is_at_end(known)
        and known.fetched_at between clock_timestamp() - sign_of_life and clock_timestamp()
    then
        return false;
    end if;
    if known.tick is not null then
        return exists (
            select
            from postrider.next_ticks(known.tick, known.message_id, 1) n
            where n.tick_count > 0
        );
    end if;
    return exists (select from postrider.transaction_messages(known.xid, known.message_id, 1));
end;
$$;
