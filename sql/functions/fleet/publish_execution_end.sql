-- postrider.publish_execution_end(live execution, status, reason, error) → whether it was published
--
-- Internal, by end_execution in its transaction. Where the event type postrider.execution_ended exists,
-- publishes how it ended, without parameters and result; where it does not, this is one look into an
-- index. Raises nothing: an error, such as a full queue, must not undo what ended. event_log says so then
-- (execution.not_published), once a minute at most.
create or replace function postrider.publish_execution_end(
    p_live postrider.live_execution, p_status text, p_reason text, p_error jsonb)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set timezone = 'UTC'
as $$
declare
    announced postrider.event_types;
    correlation uuid;
begin
    select t.* into announced
    from postrider.event_types t
    where t.name = 'postrider.execution_ended';
    if announced.id is null then
        return false;
    end if;
    begin
        select e.correlation_id into correlation from postrider.execution e where e.id = p_live.id;
        perform postrider.append_message(
            null, null, announced,
            jsonb_build_object(
                'execution_id', p_live.id, 'action', p_live.action, 'pool', p_live.pool,
                'worker_id', p_live.worker_id, 'status', p_status, 'reason', p_reason,
                'attempt', p_live.attempt, 'error', p_error, 'correlation_id', correlation,
                'ended_at', clock_timestamp()),
            null, null, 0, null, null, correlation, null, null, null, null);
    exception
        when others then
            insert into postrider.event_log (event, details)
            select
                'execution.not_published',
                jsonb_build_object('execution_id', p_live.id, 'error', sqlerrm)
            where not exists (
                select
                from postrider.event_log l
                where l.event = 'execution.not_published'
                and l.at between now() - interval '1 minute' and now()
            );
            return false;
    end;
    return true;
end;
$$;
