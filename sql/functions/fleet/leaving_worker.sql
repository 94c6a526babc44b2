-- postrider.leaving_worker(worker_id, epoch) → the worker
--
-- Internal, by deregister_worker: like live_worker, and the role admin may let every worker leave.
create or replace function postrider.leaving_worker(p_worker_id integer, p_epoch integer)
returns postrider.worker
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if postrider.is_admin() then
        return postrider.known_worker(p_worker_id, p_epoch);
    end if;
    return postrider.live_worker(p_worker_id, p_epoch);
end;
$$;
