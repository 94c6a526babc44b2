-- postrider.save_circuits(dispatcher, circuits…, at) → for each of them, whether it was saved, and as what it is
-- known now
--
-- Internal. Compare and set: a circuit is changed only while its version is the one that its caller knew,
-- `versions`. Who finds the row locked, by an application's transaction, changes nothing and is not kept
-- waiting. `at` is what the caller takes for now: when the clock was set back since its last heartbeat, its
-- times are too late by as much. What happened is told by the states before and after; the other dispatchers are notified.
create or replace function postrider.save_circuits(
    p_dispatcher uuid,
    p_endpoint_ids integer[],
    p_versions bigint[],
    p_next_versions bigint[],
    p_states text[],
    p_failure_counts integer[],
    p_probe_at timestamptz[],
    p_probers uuid[],
    p_paused_until timestamptz[],
    p_last_success_at timestamptz[],
    p_last_failure_at timestamptz[],
    p_failing_since timestamptz[],
    p_at timestamptz default null)
returns table (
    endpoint_id integer,
    is_saved boolean,
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
declare
    saved integer[];
    has_news boolean;
    -- Callers are never ahead of the clock otherwise, but for the little by which clocks differ in speed.
    slack constant interval := '1 second';
    too_late constant interval := case
        when p_at > clock_timestamp() + slack then p_at - clock_timestamp()
        else '0'
    end;
begin
    with wanted as (
        select
            w.endpoint_id, w.version, w.next_version, w.state, w.failure_count, w.prober,
            w.probe_at - too_late as probe_at, w.paused_until - too_late as paused_until,
            w.last_success_at - too_late as last_success_at,
            w.last_failure_at - too_late as last_failure_at,
            w.failing_since - too_late as failing_since
        from unnest(
            p_endpoint_ids, p_versions, p_next_versions, p_states, p_failure_counts, p_probe_at,
            p_probers, p_paused_until, p_last_success_at, p_last_failure_at, p_failing_since)
            w (endpoint_id, version, next_version, state, failure_count, probe_at, prober,
            paused_until, last_success_at, last_failure_at, failing_since)
    ), held as (
        -- With what it is to become, so that nothing is joined twice: without hash joins that would be
        -- the square of their number.
        select
            c.state as former_state, c.failure_count as former_count,
            c.paused_until as former_pause, w.*
        from postrider.circuit c
        join wanted w on w.endpoint_id = c.endpoint_id and w.version = c.version
        order by c.endpoint_id
        for update of c skip locked
    ), changed as (
        update postrider.circuit c
        set version = w.next_version,
            state = w.state,
            failure_count = w.failure_count,
            since = case when w.state = c.state then c.since else clock_timestamp() end,
            probe_at = w.probe_at,
            probe_owner = w.prober,
            paused_until = w.paused_until,
            last_success_at = greatest(c.last_success_at, w.last_success_at),
            last_failure_at = greatest(c.last_failure_at, w.last_failure_at),
            failing_since = w.failing_since
        from held w
        where c.endpoint_id = w.endpoint_id
        returning
            c.endpoint_id, w.former_state, c.state, w.former_count, c.failure_count, w.former_pause,
            c.paused_until, c.probe_at
    ), logged as (
        insert into postrider.event_log (event, endpoint_name, details)
        select
            case c.state
                when 'open' then 'circuit.opened'
                when 'half_open' then 'circuit.half_open'
                else 'circuit.closed'
            end,
            e.name,
            jsonb_strip_nulls(jsonb_build_object(
                'from', c.former_state, 'to', c.state,
                'failure_count', greatest(c.failure_count, c.former_count),
                'probe_at', c.probe_at, 'dispatcher', p_dispatcher))
        from changed c
        join postrider.endpoints e on e.id = c.endpoint_id
        where c.state <> c.former_state
        -- A probe that another one takes over from a dispatcher that died.
        or c.state = 'half_open'
    )
    select
        coalesce(array_agg(c.endpoint_id), '{}'),
        coalesce(
            bool_or(c.state <> c.former_state or c.paused_until is distinct from c.former_pause),
            false)
    into saved, has_news
    from changed c;
    if has_news then
        perform postrider.ring('postrider', 'circuits');
    end if;

    return query
    select
        c.endpoint_id, c.endpoint_id = any (saved), c.version, c.state, c.failure_count, c.probe_at,
        c.probe_owner, c.is_prober_alive, c.paused_until, c.last_success_at, c.last_failure_at,
        c.failing_since
    from postrider.known_circuits(p_endpoint_ids, false) c;
end;
$$;
