-- postrider.known_worker(worker_id, epoch) → the worker
--
-- Internal, before it is asked whose it is. Raises 22004 (a null id), 42704 (no such worker), 55000 (another process has
-- registered under its name since, or it was taken for lost: it has to register again). A null epoch stands for the
-- present one.
create or replace function postrider.known_worker(p_worker_id integer, p_epoch integer)
returns postrider.worker
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    found_worker postrider.worker;
begin
    if p_worker_id is null then
        raise exception 'p_worker must not be null' using errcode = '22004';
    end if;
    select w.* into found_worker from postrider.worker w where w.id = p_worker_id;
    if not found then
        raise exception 'Worker % does not exist', p_worker_id using errcode = '42704';
    end if;
    if found_worker.status = 'inactive' or found_worker.epoch <> p_epoch then
        raise exception 'Worker ''%'' has to register again: %', found_worker.name,
            case
                when found_worker.status = 'inactive' then 'it is inactive'
                else format('another process has its name (epoch %s, not %s)',
                    found_worker.epoch, p_epoch)
            end using errcode = '55000';
    end if;
    return found_worker;
end;
$$;
