-- postrider.execution_queue(worker_id, pool) → the name of the queue in which an execution waits
--
-- Internal. The worker's own, if it is addressed to one.
create or replace function postrider.execution_queue(p_worker_id integer, p_pool text)
returns text
language sql
immutable
as $$
    select coalesce('worker:' || p_worker_id, 'pool:' || p_pool);
$$;
