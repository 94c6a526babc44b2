-- postrider.lost_shards(dispatcher, shards, epochs) → those that the dispatcher does not own any more
--
-- Internal. The fence. Its caller holds the shared lock, which keeps takeovers out until commit.
create or replace function postrider.lost_shards(
    p_dispatcher uuid, p_shards smallint[], p_epochs bigint[])
returns smallint[]
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    select coalesce(array_agg(r.shard), '{}')
    from unnest(p_shards, p_epochs) r (shard, epoch)
    where not exists (
        select
        from postrider.shard s
        where s.shard = r.shard
        and s.epoch = r.epoch
        and s.owner = p_dispatcher
    );
$$;
