-- postrider.advance_replay(job) → whether there is more to do at once
--
-- Internal: a step of advance_replays for a job whose row is locked. A step looks at 20,000 messages of
-- the log and sends 2,000 of them at most, and no more than the job's rate allows since the last one.
-- What a job could not send for five seconds it does not make up for. What is paced into the future was written
-- before the clock was set back. Uses message_id.
create or replace function postrider.advance_replay(p_job postrider.replay)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    most_sent constant bigint := 2000;
    most_seen constant bigint := 20000;
    since constant xid8 := postrider.done_before();
    is_enabled boolean;
    own_targets integer[];
    used_to timestamptz := case
        when p_job.paced_to > clock_timestamp() then clock_timestamp() - interval '1 second'
        else greatest(p_job.paced_to, clock_timestamp() - interval '5 seconds')
    end;
    allowed bigint := most_sent;
    room bigint;
    is_full boolean;
    obstacle text;
    boundary bigint;
    message_ids bigint[] := '{}';
    targets integer[] := '{}';
    chosen bigint;
    sent bigint;
    new_state text := 'running';
begin
    select
        e.enabled,
        exists (
            select
            from postrider.full_endpoint f
            where f.endpoint_id = e.id
            and f.size_limit = (e.config ->> 'max_queue_size')::bigint
        ),
        array(select s.id from postrider.subscriptions s where s.endpoint_id = e.id)
    into is_enabled, is_full, own_targets
    from postrider.endpoints e
    where e.id = p_job.endpoint_id;
    if is_enabled is null then
        new_state := 'failed';
        obstacle := format('Endpoint ''%s'' does not exist', p_job.endpoint_name);
    elsif not is_enabled then
        obstacle := format('Endpoint ''%s'' is disabled', p_job.endpoint_name);
    elsif is_full then
        obstacle := format('Endpoint ''%s'' is full: see its max_queue_size', p_job.endpoint_name);
    else
        allowed := least(
            allowed,
            floor(p_job.rate * extract(epoch from clock_timestamp() - used_to)));
        room := postrider.update_gate()
            - coalesce(pg_sequence_last_value('postrider.message_sequence'), 0);
        if room <= 0 then
            obstacle := 'The log is full: see max_queue_size';
        elsif allowed <= 0 then
            return false;
        end if;
    end if;
    if obstacle is not null then
        update postrider.replay r
        set state = new_state,
            last_error = obstacle,
            finished_at = case when new_state = 'failed' then clock_timestamp() end
        where r.id = p_job.id
        and (r.last_error is distinct from obstacle or new_state = 'failed');
        if new_state = 'failed' then
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                'replay.failed', p_job.endpoint_name,
                jsonb_build_object('id', p_job.id, 'error', obstacle));
        end if;
        return false;
    end if;
    allowed := least(allowed, room);

    select m.id
    into boundary
    from postrider.message m
    where m.id > p_job.position
    and m.id <= p_job.last_id
    order by m.id
    offset most_seen - 1
    limit 1;
    boundary := coalesce(boundary, p_job.last_id);
    select coalesce(array_agg(c.id), '{}'), coalesce(array_agg(c.target), '{}')
    into message_ids, targets
    from (
        select m.id, t.target
        from (
            select k.id, k.xid, k.targets
            from postrider.message k
            where k.id > p_job.position
            and k.id <= boundary
            and k.created_at >= p_job.from_ts
            and k.created_at < p_job.to_ts
            and k.replay_of is null
            and k.erased_at is null
            and k.targets && own_targets
            and (p_job.event_type is null or k.event_type = p_job.event_type)
            and (p_job.filter is null or k.payload @> p_job.filter)
            order by k.id
        ) m
        cross join lateral (
            select min(o.target) as target
            from unnest(m.targets) o (target)
            where o.target = any (own_targets)
        ) t
        cross join lateral postrider.ended_status(m.id, t.target, m.xid, since) e (status)
        where e.status = coalesce(p_job.status, e.status)
        order by m.id
        limit allowed
    ) c;
    chosen := cardinality(message_ids);
    -- Fewer than were chosen, if some were erased meanwhile.
    sent := cardinality(postrider.append_replays(message_ids, targets));
    if chosen = allowed then
        boundary := message_ids[chosen];
    end if;

    if boundary >= p_job.last_id then
        new_state := 'completed';
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'replay.completed', p_job.endpoint_name,
            jsonb_build_object('id', p_job.id, 'replayed', p_job.replayed_count + sent));
    end if;
    update postrider.replay r
    set state = new_state,
        position = boundary,
        position_at = coalesce(
            (
                select m.created_at
                from postrider.message m
                where m.id = boundary
                limit 1
            ), r.position_at),
        paced_to = case
            when r.rate is null then clock_timestamp()
            else used_to + sent * interval '1 second' / r.rate
        end,
        replayed_count = r.replayed_count + sent,
        last_error = null,
        finished_at = case when new_state = 'completed' then clock_timestamp() end
    where r.id = p_job.id;
    return new_state = 'running' and (p_job.rate is null or chosen < allowed or allowed = most_sent);
end;
$$;
