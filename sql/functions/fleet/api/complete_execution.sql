-- postrider.complete_execution(execution, fence, result) → whether it counts
--
-- Worker, application, admin. By the worker that started it, with the fence it got then. May be part of the
-- transaction in which the worker writes what it has done, so that both count or neither. False: it has
-- ended otherwise, or others have it by now. Raises 22004 (a null id or fence), 22023 (the result is
-- larger than max_payload_size), 42501 (another role has registered the worker that has it).
create or replace function postrider.complete_execution(
    p_execution bigint, p_fence bigint, p_result jsonb default null)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    live postrider.live_execution;
begin
    perform postrider.check_size('p_result', p_result);
    select l.* into live from postrider.held_execution(p_execution, p_fence) l;
    if live.id is null or live.status <> 'running' then
        return false;
    end if;
    perform postrider.end_execution(live, 'completed', null, p_result, null);
    return true;
end;
$$;
