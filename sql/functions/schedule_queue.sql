-- postrider.schedule_queue(worker, queue, limit, reserved, reserved_from) → what is scheduled now
--
-- Internal, by schedule_executions. Of what has come since `reserved_from` so many are left to others.
-- Looks at each action that waits in the queue by itself, so that one whose limit is reached costs
-- nothing however much of it waits; at no more than 200 actions, which ones changes. Who admits an execution of an action with a limit holds the lock of
-- the action's row (admissible). What others have locked is passed, and what comes after it looked at.
create or replace function postrider.schedule_queue(
    p_worker postrider.worker,
    p_queue text,
    p_limit integer,
    p_reserved integer,
    p_reserved_from timestamptz)
returns setof postrider.live_execution
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    -- How long whoever schedules for RabbitMQ may take until the broker has confirmed.
    publishing constant interval := '10 seconds';
    most_rounds constant integer := 10;
    -- So many of the actions that wait are looked at from the first one on, and as many from any other one on.
    most_actions constant integer := 100;
    action_count integer;
    remaining integer := p_limit;
    waiting_action text;
    candidates bigint[];
    priorities smallint[];
    requested timestamptz[];
    -- Those that somebody else had.
    passed bigint[] := '{}';
    found_ids bigint[];
    found_priorities smallint[];
    found_times timestamptz[];
    room integer;
    allowed integer;
begin
    for round in 1..most_rounds loop
        exit when remaining <= 0;
        waiting_action := '';
        action_count := 0;
        candidates := '{}';
        priorities := '{}';
        requested := '{}';
        loop
            select min(l.action)
            into waiting_action
            from postrider.live_generation g
            cross join lateral (
                select l.action
                from postrider.live_execution l
                where l.generation = g.id
                and l.queue = p_queue
                and l.status = 'requested'
                and not l.is_delayed
                and l.action > waiting_action
                order by l.action
                limit 1
            ) l;
            exit when waiting_action is null;
            action_count := action_count + 1;
            exit when action_count > 2 * most_actions;
            if action_count = most_actions then
                waiting_action := greatest(waiting_action, postrider.any_waiting_action(p_queue));
                continue;
            end if;
            room := postrider.admissible(waiting_action, remaining + p_reserved);
            continue when room <= 0;
            select array_agg(n.id), array_agg(n.priority), array_agg(n.requested_at)
            into found_ids, found_priorities, found_times
            from (
                select l.id, l.priority, l.requested_at
                from postrider.live_generation g
                cross join lateral (
                    select l.id, l.priority, l.requested_at
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.queue = p_queue
                    and l.action = waiting_action
                    and l.status = 'requested'
                    and not l.is_delayed
                    and l.expires_at > clock_timestamp()
                    and l.id <> all (passed)
                    -- What the pool may have as well does not follow a worker that is not there (check_workers).
                    and (l.pool is null or p_worker.status <> 'inactive')
                    order by l.priority desc, l.id
                    limit room
                ) l
                order by l.priority desc, l.id
                limit room
            ) n;
            candidates := candidates || found_ids;
            priorities := priorities || found_priorities;
            requested := requested || found_times;
        end loop;

        select greatest(
            count(*) - p_reserved,
            count(*) filter (where n.requested_at <= p_reserved_from))
        into allowed
        from unnest(requested) n (requested_at);
        allowed := least(allowed, remaining);
        exit when allowed <= 0;
        candidates := array(
            select n.id
            from unnest(candidates, priorities) n (id, priority)
            order by n.priority desc, n.id
            limit allowed
        );
        found_ids := array(
            select l.id
            from postrider.live_execution l
            where l.id = any (candidates)
            and l.queue = p_queue
            -- Not by the index of what waits: a plan that was made when that was short would read all of it.
            and l.status || '' = 'requested'
            and not l.is_delayed
            for update skip locked
        );
        return query
        update postrider.live_execution l
        set status = 'scheduled',
            fence = nextval('postrider.execution_fence'),
            worker_id = p_worker.id,
            worker_epoch = p_worker.epoch,
            carrier = p_worker.carrier,
            scheduled_at = clock_timestamp(),
            due_at = case p_worker.carrier
                when 'rabbitmq' then least(l.expires_at, clock_timestamp() + publishing)
                else l.expires_at
            end
        where l.id = any (found_ids)
        returning l.*;
        exit when cardinality(found_ids) = cardinality(candidates);
        remaining := remaining - cardinality(found_ids);
        passed := passed || candidates;
    end loop;
end;
$$;
