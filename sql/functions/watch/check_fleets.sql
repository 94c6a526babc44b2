-- postrider.check_fleets() → whether executions get to workers, and what there is to say
--
-- Internal, by health_check. Unhealthy when something waits in a pool without an active worker, and when
-- there are workers behind RabbitMQ and no dispatcher is connected to it. Degraded when only some are,
-- when executions have been scheduled for more than 5 minutes, the dead letter queue has more than 100
-- messages, the last minute brought more than 10 dead letters, or a worker is unhealthy or says that it
-- cannot work. What a dispatcher said of its broker counts for 30 seconds. Uses
-- execution_dead_letter_at, live_execution_worker, live_execution_waiting.
create or replace function postrider.check_fleets()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with pools as materialized (
        select
            f.pool, f.active_count + f.busy_count as live_count, f.is_waiting_in_pool,
            f.waiting_count, f.overdue_count, f.oldest_waiting_at, f.oldest_scheduled_at
        from postrider.pool_figures() f
    ), brokers as materialized (
        select
            count(*) as process_count,
            count(*) filter (where b.is_connected) as connected_count,
            max(b.dead_letter_depth) as dead_letter_depth,
            max(b.error) filter (where not b.is_connected) as error
        from postrider.broker_report b
        where b.at > clock_timestamp() - interval '30 seconds'
    ), brokered as materialized (
        select count(*) as worker_count
        from postrider.worker w
        where w.carrier = 'rabbitmq'
        and (
            w.status <> 'inactive'
            or exists (
                select
                from postrider.live_generation g
                cross join lateral (
                    select
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.worker_id = w.id
                    limit 1
                ) l
            )
            or exists (
                select
                from postrider.live_generation g
                cross join lateral (
                    select
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.queue = postrider.execution_queue(w.id, null)
                    and l.status = 'requested'
                    and not l.is_delayed
                    limit 1
                ) l
            )
        )
    ), recent as materialized (
        select count(*) as letter_count
        from (
            select
            from postrider.execution_dead_letter d
            where d.at > clock_timestamp() - interval '1 minute'
            and d.outcome <> 'returned'
            limit 1000
        ) d
    ), found (place, is_severe, details) as (
        select
            1, true,
            format(
                'no worker of pool %s is active, and %s %s, the oldest for %s', p.pool,
                case when p.waiting_count >= 10000 then '10000 or more' else p.waiting_count::text end,
                case when p.waiting_count = 1 then 'execution waits' else 'executions wait' end,
                postrider.describe_age(extract(epoch from clock_timestamp() - p.oldest_waiting_at)))
        from pools p
        where p.is_waiting_in_pool
        and p.live_count = 0
        union all
        select
            2, b.connected_count = 0,
            case
                when b.process_count = 0 then format(
                    'no dispatcher has a broker (amqp_url), and %s of the workers need one',
                    w.worker_count)
                else format(
                    '%s of %s dispatchers are connected to the broker%s', b.connected_count,
                    b.process_count, coalesce(': ' || left(b.error, 200), ''))
            end
        from brokers b
        cross join brokered w
        where w.worker_count > 0
        and b.connected_count < greatest(b.process_count, 1)
        union all
        select
            3, false,
            format(
                '%s of pool %s scheduled for more than 5 min, the oldest for %s',
                case when p.overdue_count = 1 then '1 execution' else p.overdue_count || ' executions' end,
                p.pool,
                postrider.describe_age(extract(epoch from clock_timestamp() - p.oldest_scheduled_at)))
        from pools p
        where p.overdue_count > 0
        union all
        select
            4, false,
            format('%s messages in the dead letter queue of the broker', b.dead_letter_depth)
        from brokers b
        where b.dead_letter_depth > 100
        union all
        select
            5, false,
            format(
                '%s dead letters in the last minute',
                case when r.letter_count >= 1000 then '1000 or more' else r.letter_count::text end)
        from recent r
        where r.letter_count > 10
        union all
        select
            6, false,
            format(
                'worker %s %s', w.name,
                case
                    when w.status = 'error' then 'says that it cannot work'
                        || coalesce(': ' || left(w.last_error, 200), '')
                    else format(
                        'is unhealthy: %s failures in a row, %s %% of the last attempts, %s waiting',
                        w.failure_streak, round((w.failure_rate * 100)::numeric), w.queue_depth)
                end)
        from postrider.worker w
        where w.status = 'error'
        or w.status = 'active'
        and w.health = 'unhealthy'
    )
    select
        case when bool_or(f.is_severe) then 'unhealthy' when count(*) > 0 then 'degraded' else 'healthy' end,
        coalesce(
            string_agg(f.details, '; ' order by f.place, f.details) filter (where f.position <= 10)
            || case when count(*) > 10 then format('; and %s more', count(*) - 10) else '' end,
            (
                select case
                    when count(*) = 0 then 'there are no workers'
                    else format('%s workers of %s pools are active', sum(p.live_count), count(*))
                end
                from pools p
            ))
    from (
        select n.place, n.is_severe, n.details, row_number() over (order by n.place, n.details) as position
        from found n
    ) f;
$$;
