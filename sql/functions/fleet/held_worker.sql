-- postrider.held_worker(name) → the worker of this name, its row locked
--
-- Internal: for who manages workers by name. Waits for whoever changes it, and not for who has submitted something to
-- it and has not committed: who removes it has to (drop_worker). Raises 22004 (a null name), 42704 (no such worker).
create or replace function postrider.held_worker(p_name text)
returns postrider.worker
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.worker;
begin
    if p_name is null then
        raise exception 'Worker name must not be null' using errcode = '22004';
    end if;
    select w.* into known from postrider.worker w where w.name = p_name for no key update;
    if not found then
        raise exception 'Worker ''%'' does not exist', left(p_name, 200) using errcode = '42704';
    end if;
    return known;
end;
$$;
