-- postrider.bring_back_executions(jump) → the same, a batch further
--
-- Internal: bring_back. Retries that wait, times to live, deadlines. None may end too early: so a retry that goes
-- has its whole time to live, and the rest is brought back only if it says that it was written in what is the future
-- now. Uses live_execution_pkey.
create or replace function postrider.bring_back_executions(p_jump postrider.clock_jump)
returns postrider.clock_jump
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    most constant integer := 1000;
    at constant timestamptz := clock_timestamp();
    looked_at integer;
    ids bigint[];
    changed_count integer;
begin
    select
        count(*), coalesce(max(w.id), 0),
        coalesce(array_agg(w.id) filter (where w.is_late), '{}')
    into looked_at, p_jump.execution_id, ids
    from (
        select
            l.id,
            l.due_at > at
            and postrider.is_older(l.xmin, p_jump.xid)
            and (
                l.is_delayed
                or greatest(l.requested_at, l.scheduled_at, l.started_at) > at) as is_late
        from postrider.live_execution l
        where l.id > p_jump.execution_id
        order by l.id
        limit most
    ) w;
    p_jump.are_executions_over := looked_at < most;
    if ids = '{}' then
        return p_jump;
    end if;
    update postrider.live_execution l
    set due_at = case
            when l.is_delayed then greatest(l.due_at - p_jump.back, at)
            else l.due_at - p_jump.back
        end,
        requested_at = case
            when l.is_delayed then greatest(l.due_at - p_jump.back, at)
            else l.requested_at
        end,
        expires_at = case
            when l.is_delayed
                then greatest(l.due_at - p_jump.back, at) + make_interval(secs => l.ttl_ms / 1000.0)
            else l.expires_at - p_jump.back
        end,
        deadline_at = l.deadline_at - p_jump.back
    where l.ctid = any (array(
        select k.ctid
        from unnest(ids) i (id)
        cross join lateral (
            select o.ctid
            from postrider.live_execution o
            where o.id = i.id
            and postrider.is_older(o.xmin, p_jump.xid)
            offset 0
            for update skip locked
        ) k
    ));
    get diagnostics changed_count = row_count;
    p_jump.is_incomplete := p_jump.is_incomplete or changed_count < cardinality(ids);
    p_jump.brought_count := p_jump.brought_count + changed_count;
    return p_jump;
end;
$$;
