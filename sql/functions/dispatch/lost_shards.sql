-- postrider.lost_shards(dispatcher, shards, epochs) → those that the dispatcher does not own any more
--
-- Internal. The fence: nobody takes a shard over from here to the end of the transaction. Its caller writes only
-- what belongs to shards that are not among these, in later statements.
create or replace function postrider.lost_shards(
    p_dispatcher uuid, p_shards smallint[], p_epochs bigint[])
returns smallint[]
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    lock table postrider.fence in row share mode;
    -- By a snapshot that is younger than the lock.
    return (
        select coalesce(array_agg(r.shard), '{}')
        from unnest(p_shards, p_epochs) r (shard, epoch)
        where not exists (
            select
            from postrider.shard s
            where s.shard = r.shard
            and s.epoch = r.epoch
            and s.owner = p_dispatcher
        )
    );
end;
$$;
