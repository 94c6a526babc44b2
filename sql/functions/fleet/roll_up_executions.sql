-- postrider.roll_up_executions(most, pause) → how many rows were added to the figures
--
-- Internal, by every dispatcher every few seconds. Adds ends of attempts and dead letters, each exactly
-- once, to execution_statistics, execution_total, dead_letter_statistics and dead_letter_total: those of
-- all transactions from the last horizon to the oldest that is in progress, and the new horizon, in one
-- transaction. So a transaction that stays open delays figures and loses none. At most `most` rows of
-- each table, but transactions whole. One at a time, and not within `pause` of the last that had anything
-- to add; nothing is written where nothing is new. When a log comes from another cluster, waits until
-- adopt has been there. Totals have 1,000 rows and some at most: what comes after those is
-- counted under the action, pool and reason `(other)`. Uses execution_end_xid, execution_dead_letter_xid.
create or replace function postrider.roll_up_executions(
    p_most integer, p_pause interval default '0')
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    most_totals constant integer := 1000;
    known postrider.execution_rollup;
    visible xid8;
    part xid8;
    has_room boolean;
    ended integer;
    buried integer;
begin
    select r.* into known from postrider.execution_rollup r;
    visible := pg_snapshot_xmin(pg_current_snapshot());
    -- One in the future was written before the clock was set back.
    if known.at between clock_timestamp() - p_pause and clock_timestamp()
        or not exists (
            select from postrider.execution_end e where e.xid >= known.horizon and e.xid < visible)
        and not exists (
            select
            from postrider.execution_dead_letter d
            where d.xid >= known.horizon
            and d.xid < visible)
        or not postrider.take_chore('figures')
    then
        return 0;
    end if;
    -- Somebody else may have added it since.
    select r.* into known from postrider.execution_rollup r;
    if known.at between clock_timestamp() - p_pause and clock_timestamp() or visible <= known.horizon then
        return 0;
    end if;
    -- Each bound is behind the last row that it lets in.
    foreach part in array array[
        (
            select e.xid
            from postrider.execution_end e
            where e.xid >= known.horizon
            and e.xid < visible
            order by e.xid
            offset p_most - 1
            limit 1
        ),
        (
            select d.xid
            from postrider.execution_dead_letter d
            where d.xid >= known.horizon
            and d.xid < visible
            order by d.xid
            offset p_most - 1
            limit 1
        )]
    loop
        visible := least(visible, ((part::text)::numeric + 1)::text::xid8);
    end loop;

    select count(*) < most_totals into has_room from postrider.execution_total;
    with fresh as materialized (
        select
            date_trunc('hour', e.ended_at, 'UTC') as hour, coalesce(e.pool, '') as pool, e.action,
            coalesce(e.worker_id, 0) as worker_id, e.status, coalesce(e.reason, '') as reason,
            count(*) as attempt_count,
            count(*) filter (where e.is_final) as ended_count,
            count(e.started_at) as started_count,
            coalesce(sum(greatest(extract(epoch from e.ended_at - e.started_at), 0)), 0)
                as running_seconds,
            sum(greatest(
                extract(epoch from coalesce(e.started_at, e.ended_at) - e.requested_at), 0))
                as waiting_seconds
        from postrider.execution_end e
        where e.xid >= known.horizon
        and e.xid < visible
        group by 1, 2, 3, 4, 5, 6
    ), hourly as (
        insert into postrider.execution_statistics as s (
            hour, pool, action, worker_id, status, reason, attempt_count, ended_count, started_count,
            running_seconds, waiting_seconds)
        select
            f.hour, f.pool, f.action, f.worker_id, f.status, f.reason, f.attempt_count, f.ended_count,
            f.started_count, f.running_seconds, f.waiting_seconds
        from fresh f
        on conflict (hour, pool, action, worker_id, status, reason) do update
        set attempt_count = s.attempt_count + excluded.attempt_count,
            ended_count = s.ended_count + excluded.ended_count,
            started_count = s.started_count + excluded.started_count,
            running_seconds = s.running_seconds + excluded.running_seconds,
            waiting_seconds = s.waiting_seconds + excluded.waiting_seconds
    ), named as (
        select
            case when n.is_named then f.pool else '(other)' end as pool,
            case when n.is_named then f.action else '(other)' end as action,
            f.status,
            case when n.is_named then f.reason else '(other)' end as reason,
            f.attempt_count, f.ended_count
        from fresh f
        cross join lateral (
            select has_room or exists (
                select
                from postrider.execution_total t
                where (t.pool, t.action, t.status, t.reason) = (f.pool, f.action, f.status, f.reason)
            ) as is_named
        ) n
    ), totals as (
        insert into postrider.execution_total as t (
            pool, action, status, reason, attempt_count, ended_count)
        select n.pool, n.action, n.status, n.reason, sum(n.attempt_count), sum(n.ended_count)
        from named n
        group by 1, 2, 3, 4
        on conflict (pool, action, status, reason) do update
        set attempt_count = t.attempt_count + excluded.attempt_count,
            ended_count = t.ended_count + excluded.ended_count
    )
    select coalesce(sum(f.attempt_count), 0) into ended from fresh f;

    with fresh as materialized (
        select
            date_trunc('hour', d.at, 'UTC') as hour, coalesce(d.worker_id, 0) as worker_id,
            coalesce(d.action, '') as action, coalesce(d.reason, '') as reason, d.outcome, d.carrier,
            count(*) as letter_count
        from postrider.execution_dead_letter d
        where d.xid >= known.horizon
        and d.xid < visible
        group by 1, 2, 3, 4, 5, 6
    ), hourly as (
        insert into postrider.dead_letter_statistics as s (
            hour, worker_id, action, reason, outcome, carrier, letter_count)
        select f.hour, f.worker_id, f.action, f.reason, f.outcome, f.carrier, f.letter_count
        from fresh f
        on conflict (hour, worker_id, action, reason, outcome, carrier) do update
        set letter_count = s.letter_count + excluded.letter_count
    ), totals as (
        insert into postrider.dead_letter_total as t (outcome, letter_count)
        select f.outcome, sum(f.letter_count)
        from fresh f
        group by f.outcome
        on conflict (outcome) do update
        set letter_count = t.letter_count + excluded.letter_count
    )
    select coalesce(sum(f.letter_count), 0) into buried from fresh f;

    if ended + buried > 0 then
        update postrider.execution_rollup r
        set horizon = visible,
            at = clock_timestamp();
    end if;
    return ended + buried;
end;
$$;
