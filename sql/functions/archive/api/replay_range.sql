-- postrider.replay_range(endpoint_id, from, to, status) → how many messages were sent again
--
-- Operator, admin. Sends again, to this endpoint only and in the order of the log, whatever was created from `from`
-- on and before `to` and has ended there, all of it or with this status. What is a replay itself is left
-- out. Logged in event_log. Raises 22004, 22023, 42704 (no such endpoint), 55000 (disabled), 53400 (the
-- log has no room for all of it). Uses message_created_at.
create or replace function postrider.replay_range(
    p_endpoint_id bigint,
    p_from_ts timestamptz,
    p_to_ts timestamptz,
    p_status text default null)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    endpoint record;
    since constant xid8 := postrider.done_before();
    own_targets integer[];
    message_ids bigint[];
    targets integer[];
    replayed integer;
begin
    if p_endpoint_id is null then
        raise exception 'Endpoint id must not be null' using errcode = '22004';
    end if;
    perform postrider.check_replay(p_from_ts, p_to_ts, p_status);
    select e.id, e.name, e.enabled into endpoint from postrider.endpoints e where e.id = p_endpoint_id;
    if endpoint.id is null then
        raise exception 'Endpoint % does not exist', p_endpoint_id using errcode = '42704';
    end if;
    if not endpoint.enabled then
        perform postrider.refuse_endpoint(endpoint.name);
    end if;
    own_targets := array(
        select s.id
        from postrider.subscriptions s
        where s.endpoint_id = endpoint.id
    );

    select coalesce(array_agg(c.id), '{}'), coalesce(array_agg(c.target), '{}')
    into message_ids, targets
    from (
        select m.id, t.target, postrider.ended_status(m.id, t.target, m.xid, since) as status
        from postrider.message m
        cross join lateral (
            select min(o.target) as target
            from unnest(m.targets) o (target)
            where o.target = any (own_targets)
        ) t
        where m.created_at >= p_from_ts
        and m.created_at < p_to_ts
        and m.replay_of is null
        and m.erased_at is null
        and m.targets && own_targets
    ) c
    where c.status = coalesce(p_status, c.status);
    -- Not erased before whoever erases sees the copy.
    perform
    from unnest(message_ids) i (id)
    cross join lateral (
        select k.id
        from postrider.message k
        where k.id = i.id
        offset 0
        for key share
    ) m;
    replayed := cardinality(postrider.append_replays(message_ids, targets));
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'range.replayed', endpoint.name,
        jsonb_build_object(
            'from_ts', p_from_ts, 'to_ts', p_to_ts, 'status', p_status, 'replayed', replayed,
            'by', session_user));
    return replayed;
end;
$$;
