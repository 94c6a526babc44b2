-- postrider.bring_back_rows(jump) → the same, with what was found
--
-- Internal: bring_back, at the beginning of a round. Circuits, workers, and leases of consumers' partitions, of
-- which there are few. Whose row is from just before or after the clock was set back: a circuit may be probed too
-- early; a worker that has said since that it lives is left alone; and so is a lease that is not too long.
create or replace function postrider.bring_back_rows(p_jump postrider.clock_jump)
returns postrider.clock_jump
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    at constant timestamptz := clock_timestamp();
    back constant interval := p_jump.back;
    late tid[];
    late_count integer;
    changed_count integer;
begin
    late := array(
        select c.ctid
        from postrider.circuit c
        where greatest(c.probe_at, c.paused_until, c.failing_since) > at
        and postrider.is_older(c.xmin, p_jump.xid)
    );
    update postrider.circuit c
    set version = c.version + 1,
        since = least(c.since, at),
        probe_at = case when c.probe_at > at then c.probe_at - back else c.probe_at end,
        paused_until = case when c.paused_until > at then c.paused_until - back else c.paused_until end,
        failing_since = case when c.failing_since > at then c.failing_since - back else c.failing_since end,
        last_success_at = least(c.last_success_at, at),
        last_failure_at = least(c.last_failure_at, at)
    where c.ctid = any (array(
        select k.ctid
        from postrider.circuit k
        where k.ctid = any (late)
        and postrider.is_older(k.xmin, p_jump.xid)
        for update skip locked));
    get diagnostics changed_count = row_count;
    if changed_count > 0 then
        perform postrider.ring('postrider', 'circuits');
    end if;
    late_count := cardinality(late) - changed_count;

    late := array(
        select w.ctid
        from postrider.worker w
        -- Whoever has changed the row since has not said that the worker lives.
        where w.heartbeat_at > at + interval '5 seconds'
    );
    update postrider.worker w
    set heartbeat_at = least(w.heartbeat_at - back, at)
    where w.ctid = any (array(
        select k.ctid
        from postrider.worker k
        where k.ctid = any (late)
        for no key update skip locked));
    get diagnostics changed_count = row_count;
    late_count := late_count + cardinality(late) - changed_count;

    late := array(
        select l.ctid
        from postrider.consumer_lease l
        where l.lease_until > at
        and (
            postrider.is_older(l.xmin, p_jump.horizon)
            or l.lease_until > at + back / 2 and postrider.is_older(l.xmin, p_jump.xid))
    );
    update postrider.consumer_lease l
    set lease_until = l.lease_until - back,
        joined_at = least(l.joined_at, at)
    where l.ctid = any (array(
        select k.ctid
        from postrider.consumer_lease k
        where k.ctid = any (late)
        and postrider.is_older(k.xmin, p_jump.xid)
        for update skip locked));
    get diagnostics changed_count = row_count;
    late_count := late_count + cardinality(late) - changed_count;
    p_jump.is_incomplete := p_jump.is_incomplete or late_count > 0;
    return p_jump;
end;
$$;
