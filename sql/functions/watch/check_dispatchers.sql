-- postrider.check_dispatchers() → the status of the dispatchers, and what there is to say
--
-- Internal, by health_check. Unhealthy without a live dispatcher, and where the log is from elsewhere and nobody
-- has adopted it; degraded when one has been silent for
-- more than 10 s, or has ended without giving its shards back and nobody has taken them over yet, and
-- while the cluster's queue of notifications is more than half full, and while no synchronous standby answers.
create or replace function postrider.check_dispatchers()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        case
            when origin.sign is not null or live.live_count = 0 then 'unhealthy'
            when live.silent_for > 10 or lost.lost_count > 0 or queue.usage > 0.5
                or standby.waited > 5 then 'degraded'
            else 'healthy'
        end,
        concat_ws(
            '; ',
            'nothing is delivered from this log before `postrider adopt`: ' || origin.sign,
            -- In a copy, those of the original.
            case case when origin.sign is null then live.live_count end
                when 0 then 'no dispatcher is running: start `postrider serve`'
                when 1 then format(
                    '1 dispatcher is running, seen %s ago', postrider.describe_age(live.silent_for))
                when live.live_count then format(
                    '%s dispatchers are running, all seen within %s', live.live_count,
                    postrider.describe_age(live.silent_for))
            end,
            case
                when live.silent_for > 10 and origin.sign is null then format(
                    'dispatcher %s on %s (pid %s) has given no sign of life since',
                    live.id, live.host, live.pid)
            end,
            case
                when lost.lost_count > 0 and origin.sign is null then format(
                    '%s lost: dispatcher %s on %s (pid %s), last seen %s ago', lost.lost_count,
                    lost.id, lost.host, lost.pid, coalesce(postrider.describe_age(lost.age), 'never'))
            end,
            case
                when queue.usage > 0.5 then format(
                    'the queue of notifications is %s %% full, so dispatchers poll: a session listens and does not read',
                    round(100 * queue.usage))
            end,
            case
                when standby.waited > 5 then format(
                    'a commit has waited for a synchronous standby for %s, and nothing new is delivered before one answers',
                    postrider.describe_age(standby.waited))
            end)
    from (
        select
            count(*) as live_count,
            max(greatest(extract(epoch from clock_timestamp() - w.heartbeat_at), 0)) as silent_for,
            (array_agg(w.id order by w.heartbeat_at))[1] as id,
            (array_agg(w.host order by w.heartbeat_at))[1] as host,
            (array_agg(w.pid order by w.heartbeat_at))[1] as pid
        from postrider.get_worker_status() w
    ) live
    cross join (
        select
            count(*) as lost_count, (array_agg(d.id order by d.started_at))[1] as id,
            (array_agg(d.host order by d.started_at))[1] as host,
            (array_agg(d.pid order by d.started_at))[1] as pid,
            (array_agg(extract(epoch from clock_timestamp() - newest.at) order by d.started_at))[1]
                as age
        from postrider.dispatcher d
        left join lateral (
            select h.at
            from postrider.heartbeat h
            where h.dispatcher = d.id
            order by h.seq desc
            limit 1
        ) newest on true
        where exists (select from postrider.shard s where s.owner = d.id)
        and not exists (select from postrider.get_worker_status() w where w.id = d.id)
    ) lost
    cross join (select postrider.foreign_sign() as sign) origin
    cross join (select u.usage from postrider.notification_queue_usage() u (usage)) queue
    cross join (
        select max(extract(epoch from clock_timestamp() - a.query_start)) as waited
        from pg_stat_activity a
        where a.datname = current_database()
        and a.application_name like 'postrider %'
        and a.wait_event = 'SyncRep'
    ) standby;
$$;
