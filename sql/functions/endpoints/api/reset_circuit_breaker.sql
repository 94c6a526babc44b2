-- postrider.reset_circuit_breaker(endpoint) → whether that changed anything
--
-- Operator, admin. Closes an endpoint's circuit, forgets its failures, and ends a pause that it asked for: deliveries
-- go on at once, few at a time at first. Logged in event_log as `circuit.reset`. Raises 22004 (a null name),
-- 42704 (no such endpoint).
create or replace function postrider.reset_circuit_breaker(p_endpoint_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known integer;
    former postrider.circuit;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.id into known from postrider.endpoints e where e.name = p_endpoint_name;
    if known is null then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    select c.* into former from postrider.circuit c where c.endpoint_id = known for update;
    if former.state = 'closed'
        and former.failure_count = 0
        and coalesce(former.paused_until <= clock_timestamp(), true)
    then
        return false;
    end if;
    update postrider.circuit c
    set version = c.version + 1,
        state = 'closed',
        failure_count = 0,
        since = clock_timestamp(),
        probe_at = null,
        probe_owner = null,
        paused_until = null,
        failing_since = null
    where c.endpoint_id = known;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'circuit.reset', p_endpoint_name,
        jsonb_build_object(
            'from', former.state, 'to', 'closed', 'failure_count', former.failure_count,
            'by', session_user)
        || postrider.changes_between(
            jsonb_build_object(
                'state', former.state, 'failure_count', former.failure_count,
                'paused_until', former.paused_until),
            jsonb_build_object('state', 'closed', 'failure_count', 0, 'paused_until', null)));
    perform postrider.ring('postrider', 'circuits');
    return true;
end;
$$;
