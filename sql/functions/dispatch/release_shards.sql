-- postrider.release_shards(dispatcher, shards, epochs) → how many were released
--
-- Internal. Gives shards back after everything in hand is recorded; a shard that has been taken over
-- meanwhile is left alone. Whoever takes them waits at the fence for this to be committed.
create or replace function postrider.release_shards(
    p_dispatcher uuid, p_shards smallint[], p_epochs bigint[])
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    released integer;
begin
    lock table postrider.fence in row share mode;
    update postrider.shard s
    set owner = null
    from unnest(p_shards, p_epochs) r (shard, epoch)
    where s.shard = r.shard
    and s.epoch = r.epoch
    and s.owner = p_dispatcher;
    get diagnostics released = row_count;
    perform postrider.ring('postrider', 'shards');
    return released;
end;
$$;
