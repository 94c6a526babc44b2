-- postrider.handle_dead_letter(execution, fence, x_death, details) → what became of it
--
-- Internal: the dead letter handler, for each message that came out of the dead letter queue, before it
-- acknowledges it. failed or retried: the execution had waited in vain, and its fence matched. returned:
-- the same before its time was over, since the queue's time to live is shorter than its own; it is
-- requested again. terminal, running, passed (the fence has moved on), unknown: nothing was changed. Each is on record in
-- execution_dead_letter. Raises 55P03 when a transaction that is open has the execution for a second: ask
-- again later.
create or replace function postrider.handle_dead_letter(
    p_execution bigint, p_fence bigint, p_x_death jsonb, p_details jsonb)
returns text
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '1s'
as $$
declare
    live postrider.live_execution;
    outcome text;
begin
    select l.* into live from postrider.live_execution l where l.id = p_execution for update;
    if not found then
        outcome := case
            when exists (select from postrider.execution e where e.id = p_execution) then 'terminal'
            else 'unknown'
        end;
    elsif live.status = 'running' then
        outcome := 'running';
    elsif live.fence is distinct from p_fence or live.status <> 'scheduled' then
        outcome := 'passed';
    elsif live.expires_at > clock_timestamp() + interval '100 milliseconds' then
        perform postrider.return_execution(live, false);
        outcome := 'returned';
    else
        return postrider.expire_execution(live, 'rabbitmq', p_x_death, p_details);
    end if;
    insert into postrider.execution_dead_letter (
        outcome, carrier, execution_id, attempt, worker_id, action, x_death, details)
    values (
        outcome, 'rabbitmq', p_execution, live.attempt, live.worker_id, live.action, p_x_death,
        p_details);
    return outcome;
end;
$$;
