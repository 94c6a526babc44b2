-- postrider.release_execution(execution, fence) → whether it was given back
--
-- Worker, application, admin. By the worker that has it, started or not: it goes to whoever takes it next, without
-- having used up an attempt. False: it has ended, or others have it by now. Raises 22004
-- (a null), 42501 (another role has registered the worker that has it).
create or replace function postrider.release_execution(p_execution bigint, p_fence bigint)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    live postrider.live_execution;
begin
    select l.* into live from postrider.held_execution(p_execution, p_fence) l;
    if live.id is null then
        return false;
    end if;
    perform postrider.return_execution(live, false);
    return true;
end;
$$;
