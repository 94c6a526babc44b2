-- postrider.save_checkpoint(dispatcher, shards, epochs, done_xmin, state) → the shards that are lost
--
-- Internal. Appends, never updates: a row rewritten many times a second becomes a chain of dead
-- versions as soon as any session pins the xmin horizon. Written before what was read is attempted,
-- so that a successor knows what may have been attempted. Writes nothing when a shard is lost.
create or replace function postrider.save_checkpoint(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_done_xmin xid8,
    p_state jsonb)
returns smallint[]
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    lost smallint[];
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost = '{}' then
        insert into postrider.checkpoint (slot, owner, shards, done_xmin, state)
        values (postrider.current_slot(), p_dispatcher, p_shards, p_done_xmin, p_state);
    end if;
    return lost;
end;
$$;
