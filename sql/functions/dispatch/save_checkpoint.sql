-- postrider.save_checkpoint(dispatcher, shards, epochs, done_xmin, backlogs, state, updates_gate) → the shards that are lost
--
-- Internal. Appends, never updates: a row rewritten many times a second becomes a chain of dead
-- versions as soon as any session pins the xmin horizon. Written before what was read is attempted,
-- so that a successor knows what may have been attempted. Writes nothing when a shard is lost.
create or replace function postrider.save_checkpoint(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_done_xmin xid8,
    p_backlogs bigint[],
    p_state jsonb,
    p_updates_gate boolean)
returns smallint[]
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    lost smallint[];
begin
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost = '{}' then
        insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
        values (
            postrider.current_slot(), p_dispatcher, p_shards, p_done_xmin, p_backlogs, p_state);
        if p_updates_gate then
            perform postrider.update_gate();
        end if;
    end if;
    return lost;
end;
$$;
