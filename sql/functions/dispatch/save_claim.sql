-- postrider.save_claim(dispatcher, shards, epochs, message_ids, targets, retry_counts) → lost shards
--
-- Internal. Says which waiting deliveries a dispatcher is about to attempt, before it does, so that
-- its successor can count an attempt that ended with the process. Writes nothing when a shard is
-- lost.
create or replace function postrider.save_claim(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_message_ids bigint[],
    p_targets integer[],
    p_retry_counts integer[])
returns smallint[]
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '500ms'
as $$
declare
    lost smallint[];
begin
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost = '{}' then
        insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
        values (
            postrider.current_slot(), p_dispatcher, p_message_ids, p_targets, p_retry_counts);
    end if;
    return lost;
end;
$$;
