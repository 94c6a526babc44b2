-- postrider.pool_workers(pool) → the workers that may get something from the pool, the best first
--
-- Internal. Those that live, are active and not cordoned: the healthy before the degraded, and unhealthy
-- ones only if there are no others; among those the one with the most free capacity, which may be none.
-- Uses worker_pool, live_execution_worker.
create or replace function postrider.pool_workers(p_pool text)
returns table (
    worker_id integer,
    carrier text,
    health_rank integer,
    free_capacity bigint)
language plpgsql
rows 10
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select r.worker_id, r.carrier, r.health_rank, r.free_capacity
    from (
        select
            w.id as worker_id, w.carrier,
            case w.health when 'healthy' then 0 when 'degraded' then 1 else 2 end as health_rank,
            greatest(w.capacity - (
                select count(*)
                from (
                    select
                    from postrider.live_generation g
                    cross join lateral (
                        select
                        from postrider.live_execution l
                        where l.generation = g.id
                        and l.worker_id = w.id
                        limit w.capacity
                    ) l
                    limit w.capacity
                ) l
            ), 0) as free_capacity,
            bool_or(w.health <> 'unhealthy') over () as has_better
        from postrider.worker w
        where w.pool = p_pool
        and w.status = 'active'
        and w.cordoned_at is null
        and w.heartbeat_at > clock_timestamp()
            - make_interval(secs => postrider.get_setting('worker_stale_after')::integer)
    ) r
    where r.health_rank < 2 or not r.has_better
    order by r.health_rank, r.free_capacity desc, r.worker_id;
end;
$$;
