-- postrider.lock_worker(worker_id)
--
-- Internal. Who gives executions to a worker, or takes its name, holds this to the end of the transaction.
-- It is not the lock of its row: a heartbeat must not wait for it.
create or replace function postrider.lock_worker(p_worker_id integer)
returns void
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    select pg_advisory_xact_lock(1886352249, p_worker_id);
$$;
