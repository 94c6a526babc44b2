-- postrider.get_endpoint_health(endpoint) → how each endpoint does, or one of them, in order of name
--
-- Operator, admin, monitor. Its circuit breaker, when it last accepted and failed, how many deliveries are pending
-- (not delivered, dead, expired or cancelled) and since when the oldest of them is pending: without what
-- is scheduled for later, and null while the endpoint is paused. Counts nothing: see pending_deliveries.
-- Raises 42704 (no such endpoint).
create or replace function postrider.get_endpoint_health(p_endpoint_name text default null)
returns table (
    endpoint_name text,
    protocol text,
    enabled boolean,
    circuit_state text,
    circuit_failure_count integer,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    pending_messages bigint,
    oldest_pending_message timestamptz,
    paused boolean,
    paused_until timestamptz,
    probe_at timestamptz,
    failing_since timestamptz)
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '500ms'
set jit = off
as $$
begin
    if p_endpoint_name is not null
        and not exists (select from postrider.endpoints e where e.name = p_endpoint_name)
    then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    return query
    select
        e.name, e.protocol, e.enabled, coalesce(c.state, 'closed'), coalesce(c.failure_count, 0),
        c.last_success_at, c.last_failure_at, coalesce(round(p.delivery_count), 0)::bigint,
        case when not e.paused then p.oldest_at end, e.paused,
        case when c.paused_until > clock_timestamp() then c.paused_until end,
        c.probe_at, c.failing_since
    from postrider.endpoints e
    left join postrider.circuit c on c.endpoint_id = e.id
    left join postrider.pending_deliveries() p on p.endpoint_id = e.id
    where e.name = p_endpoint_name
    or p_endpoint_name is null
    order by e.name;
end;
$$;
