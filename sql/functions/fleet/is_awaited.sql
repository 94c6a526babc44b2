-- postrider.is_awaited(worker_id) → whether an execution is with the worker, or waits for it
--
-- Internal, for who removes workers. Sees what the statement sees that asks. Looks through all that has not ended. Uses
-- live_execution_worker.
create or replace function postrider.is_awaited(p_worker_id integer)
returns boolean
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select exists (
        select
        from postrider.execution_generation g
        cross join lateral (
            select
            from postrider.live_execution l
            where l.generation = g.id
            and l.worker_id = p_worker_id
            limit 1
        ) l
    )
    or exists (
        select
        from postrider.live_execution l
        where l.queue = postrider.execution_queue(p_worker_id, null)
    );
$$;
