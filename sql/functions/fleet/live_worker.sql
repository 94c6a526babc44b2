-- postrider.live_worker(worker_id, epoch) → the worker
--
-- Internal. Raises 42501 (another role has registered it), and what known_worker raises.
create or replace function postrider.live_worker(p_worker_id integer, p_epoch integer)
returns postrider.worker
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    found_worker postrider.worker;
begin
    found_worker := postrider.known_worker(p_worker_id, p_epoch);
    -- Not before that: who has lost the name to another role hears that it has.
    perform postrider.check_worker_role(found_worker.name, found_worker.registered_by);
    return found_worker;
end;
$$;
