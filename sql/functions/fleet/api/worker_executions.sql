-- postrider.worker_executions(worker, epoch) → what it has, scheduled or running
--
-- Worker, application, admin. For a worker that has lost an answer: what it does not know of it gives back
-- (release_execution). Waits some seconds for a take_executions of this worker that is under way. Raises
-- 22004 (a null worker), 42501 (another role has registered it), 42704 (no such worker), 55000 (it has to register again), 55006 (that has not ended).
-- Uses live_execution_worker.
create or replace function postrider.worker_executions(p_worker integer, p_epoch integer default null)
returns table (
    execution_id bigint,
    fence bigint,
    status text)
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    perform postrider.lock_worker(postrider.live_worker(p_worker, p_epoch), false);
    return query
    select l.id, l.fence, l.status
    from postrider.execution_generation g
    cross join lateral (
        select l.id, l.fence, l.status
        from postrider.live_execution l
        where l.generation = g.id
        and l.worker_id = p_worker
        offset 0
    ) l
    order by l.id;
end;
$$;
