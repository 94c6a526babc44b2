-- postrider.check_shards() → whether every shard has a live owner, and what there is to say
--
-- Internal, by health_check. Unhealthy when no shard has one, degraded when some have not: what is in
-- these is not delivered until somebody takes them.
create or replace function postrider.check_shards()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        case
            when owned.owned_count = owned.shard_count then 'healthy'
            when owned.owned_count = 0 then 'unhealthy'
            else 'degraded'
        end,
        concat_ws(
            '; ',
            format(
                '%s of %s shards have a live dispatcher', owned.owned_count, owned.shard_count),
            case
                when owned.owned_count < owned.shard_count
                then 'without: ' || array_to_string(owned.free, ', ')
            end)
    from (
        select
            count(*) as shard_count,
            count(w.id) as owned_count,
            array_agg(s.shard order by s.shard) filter (where w.id is null) as free
        from postrider.shard s
        left join postrider.get_worker_status() w on w.id = s.owner
    ) owned;
$$;
