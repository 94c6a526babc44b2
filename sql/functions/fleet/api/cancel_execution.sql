-- postrider.cancel_execution(execution) → its status
--
-- Application, operator, admin. cancelled: nobody will start it. cancelling: it is running; its worker is told to
-- stop, and when it has not ended within cancel_timeout it counts as cancelled. If it ends first, that
-- counts. Otherwise how it ended before. What an operator cancels is logged in event_log. Raises 22004 (a null id), 42704 (no such execution).
create or replace function postrider.cancel_execution(p_execution bigint)
returns text
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    at constant timestamptz := clock_timestamp();
    live postrider.live_execution;
    final_status text;
begin
    if p_execution is null then
        raise exception 'p_execution must not be null' using errcode = '22004';
    end if;
    select l.* into live from postrider.live_execution l where l.id = p_execution for update;
    if not found then
        select f.status
        into final_status
        from postrider.execution_end f
        where f.execution_id = p_execution
        and f.is_final;
        if not found then
            raise exception 'Execution % does not exist', p_execution using errcode = '42704';
        end if;
        return final_status;
    end if;
    if live.cancel_requested_at is null and postrider.is_operator() then
        insert into postrider.event_log (event, details)
        values (
            'execution.cancelled',
            jsonb_build_object('execution_id', p_execution, 'was', live.status, 'by', session_user)
            || postrider.changes_between(
                jsonb_build_object('status', live.status),
                -- It runs until its worker has let go of it.
                jsonb_build_object(
                    'status', case live.status when 'running' then 'cancelling' else 'cancelled' end)));
    end if;
    if live.status <> 'running' then
        perform postrider.end_execution(live, 'cancelled', 'cancelled', null, null);
        return 'cancelled';
    end if;
    update postrider.live_execution l
    set cancel_requested_at = at,
        due_at = least(
            l.due_at,
            at + make_interval(secs => postrider.get_setting('cancel_timeout')::integer))
    where l.id = p_execution
    and l.cancel_requested_at is null;
    if found and current_setting('max_prepared_transactions')::integer = 0 then
        perform postrider.ring('postrider:executions', 'cancel:' || live.worker_id);
    end if;
    return 'cancelling';
end;
$$;
