-- postrider.known_circuits(endpoint_ids, with_others) → the circuits of these endpoints; with others: and of
-- all that are not simply closed
--
-- Internal. Whether a prober lives is asked of its lease; one that is dead stays dead. Index: circuit_pkey,
-- or none with others, a row per endpoint.
create or replace function postrider.known_circuits(p_endpoint_ids integer[], p_with_others boolean)
returns table (
    endpoint_id integer,
    version bigint,
    state text,
    failure_count integer,
    probe_at timestamptz,
    probe_owner uuid,
    is_prober_alive boolean,
    paused_until timestamptz,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    failing_since timestamptz)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return query
    select
        c.endpoint_id, c.version, c.state, c.failure_count, c.probe_at, c.probe_owner,
        c.probe_owner is not null
        and c.probe_owner in (select l.id from postrider.live_dispatchers() l (id)),
        c.paused_until, c.last_success_at, c.last_failure_at, c.failing_since
    from postrider.circuit c
    where c.endpoint_id = any (p_endpoint_ids);
    if not p_with_others then
        return;
    end if;
    -- Some of them a second time, which does no harm.
    return query
    select
        c.endpoint_id, c.version, c.state, c.failure_count, c.probe_at, c.probe_owner,
        c.probe_owner is not null
        and c.probe_owner in (select l.id from postrider.live_dispatchers() l (id)),
        c.paused_until, c.last_success_at, c.last_failure_at, c.failing_since
    from postrider.circuit c
    where c.state <> 'closed'
    or c.failure_count > 0
    or c.paused_until > clock_timestamp();
end;
$$;
