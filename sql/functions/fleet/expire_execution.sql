-- postrider.expire_execution(live execution, carrier, x_death, details) → the outcome, failed or retried
--
-- Internal, by who has locked the row: what becomes of an execution that nobody started within its time to
-- live, whoever noticed it. Records the dead letter.
create or replace function postrider.expire_execution(
    p_live postrider.live_execution, p_carrier text, p_x_death jsonb, p_details jsonb)
returns text
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    outcome text;
    addressed_id integer := p_live.worker_id;
begin
    if addressed_id is null then
        select e.worker_id into addressed_id from postrider.execution e where e.id = p_live.id;
    end if;
    outcome := postrider.fail_attempt(p_live, 'queue_timeout', jsonb_strip_nulls(jsonb_build_object(
        'error', 'Worker queue TTL expired',
        'message', 'Worker did not process execution within configured TTL',
        'reason', 'queue_timeout',
        'ttl_ms', p_live.ttl_ms,
        'expired_at', p_live.expires_at,
        'queue', p_live.queue,
        'worker_id', addressed_id,
        'carrier', p_carrier,
        'x_death', p_x_death)));
    outcome := case outcome when 'requested' then 'retried' else outcome end;
    insert into postrider.execution_dead_letter (
        outcome, carrier, execution_id, attempt, worker_id, action, reason, x_death, details)
    values (
        outcome, p_carrier, p_live.id, p_live.attempt, addressed_id, p_live.action,
        'queue_timeout', p_x_death, p_details);
    return outcome;
end;
$$;
