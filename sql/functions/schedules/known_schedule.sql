-- postrider.known_schedule(name) → the schedule, locked to the end of the transaction
--
-- Internal: for whoever changes it. Waits for who changes it, or fires it at the moment. Raises 22004 (a null name), 42704 (no such schedule).
create or replace function postrider.known_schedule(p_name text)
returns postrider.schedule
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.schedule;
begin
    if p_name is null then
        raise exception 'Schedule name must not be null' using errcode = '22004';
    end if;
    select s.* into known from postrider.schedule s where s.name = p_name for update;
    if known.id is null then
        raise exception 'Schedule ''%'' does not exist', left(p_name, 200) using errcode = '42704';
    end if;
    return known;
end;
$$;
