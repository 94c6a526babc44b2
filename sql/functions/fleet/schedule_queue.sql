-- postrider.schedule_queue(worker, queue, limit, reserved, reserved_from) → what is scheduled now
--
-- Internal, by schedule_executions. Of what has come since `reserved_from` so many are left to others.
-- Looks at each action that waits in the queue by itself, so that one whose limit is reached costs
-- nothing however much of it waits; at no more than 200 actions, which ones changes. Once there is something for the worker, holds its lock
-- (worker_room), and a slot for each execution of an action with a limit (hold_slots). What others have locked is
-- passed, and what comes after it looked at, four times as far each time.
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
    most_looked_at constant integer := 100000;
    -- So many of the actions that wait are looked at from the first one on, and as many from any other one on.
    most_actions constant integer := 100;
    action_count integer;
    remaining integer := p_limit;
    depth integer := p_limit + p_reserved;
    waiting_action text;
    candidates bigint[];
    priorities smallint[];
    requested timestamptz[];
    actions text[];
    rooms integer[];
    -- Nothing lies behind what was looked at.
    is_complete boolean;
    -- How many are wanted, what there is of them, and the slot of each, or null.
    wanted integer;
    picked bigint[];
    slots smallint[];
    chosen record;
    free smallint[];
    -- Actions of which no more fit in.
    full_actions text[] := '{}';
    found_ids bigint[];
    found_priorities smallint[];
    found_times timestamptz[];
    found_count integer;
    room integer;
    look integer;
    allowed integer;
begin
    for round in 1..most_rounds loop
        exit when remaining <= 0;
        waiting_action := '';
        action_count := 0;
        candidates := '{}';
        priorities := '{}';
        requested := '{}';
        actions := '{}';
        rooms := '{}';
        is_complete := true;
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
            continue when waiting_action = any (full_actions);
            room := postrider.admissible(waiting_action, depth);
            continue when room <= 0;
            look := case round when 1 then room else depth end;
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
                    -- What the pool may have as well does not follow a worker that is not there (check_workers).
                    and (l.pool is null or p_worker.status <> 'inactive')
                    order by l.priority desc, l.id
                    limit look
                ) l
                order by l.priority desc, l.id
                limit look
            ) n;
            candidates := candidates || found_ids;
            priorities := priorities || found_priorities;
            requested := requested || found_times;
            found_count := coalesce(cardinality(found_ids), 0);
            actions := actions || array_fill(waiting_action, array[found_count]);
            rooms := rooms || array_fill(room, array[found_count]);
            is_complete := is_complete and found_count < look;
        end loop;

        select greatest(
            count(*) - p_reserved,
            count(*) filter (where n.requested_at <= p_reserved_from))
        into allowed
        from unnest(requested) n (requested_at);
        allowed := least(allowed, remaining);
        exit when allowed <= 0;
        allowed := postrider.worker_room(p_worker, p_queue, allowed);
        exit when allowed <= 0;
        picked := '{}';
        slots := '{}';
        wanted := 0;
        for chosen in
            select n.action, count(*)::integer as count
            from (
                select c.action
                from (
                    select
                        o.*,
                        row_number() over (partition by o.action order by o.priority desc, o.id) as place
                    from unnest(candidates, priorities, actions, rooms) o (id, priority, action, room)
                ) c
                where c.place <= c.room
                order by c.priority desc, c.id
                limit allowed
            ) n
            group by n.action
        loop
            wanted := wanted + chosen.count;
            free := coalesce(
                postrider.hold_slots(chosen.action, chosen.count),
                array_fill(null::smallint, array[chosen.count]));
            if free = '{}' then
                full_actions := full_actions || chosen.action;
                is_complete := false;
                continue;
            end if;
            -- As many as there are slots: no more is to be locked, and what others have locked does not count.
            found_ids := array(
                select l.id
                from postrider.live_execution l
                where l.id = any (array(
                    select c.id
                    from unnest(candidates, actions) c (id, action)
                    where c.action = chosen.action
                ))
                and l.queue = p_queue
                -- Not by the index of what waits: a plan that was made when that was short would read all of it.
                and l.status || '' = 'requested'
                and not l.is_delayed
                order by l.priority desc, l.id
                limit cardinality(free)
                for update skip locked
            );
            picked := picked || found_ids;
            slots := slots || free[1:cardinality(found_ids)];
        end loop;
        return query
        update postrider.live_execution l
        set status = 'scheduled',
            fence = nextval('postrider.execution_fence'),
            worker_id = p_worker.id,
            worker_epoch = p_worker.epoch,
            carrier = p_worker.carrier,
            slot = slots[array_position(picked, l.id)],
            scheduled_at = clock_timestamp(),
            due_at = case p_worker.carrier
                when 'rabbitmq' then least(l.expires_at, clock_timestamp() + publishing)
                else l.expires_at
            end
        where l.id = any (picked)
        returning l.*;
        -- Others had what is missing: looks further.
        exit when cardinality(picked) = wanted or is_complete;
        remaining := remaining - cardinality(picked);
        depth := least(depth * 4, most_looked_at);
    end loop;
end;
$$;
