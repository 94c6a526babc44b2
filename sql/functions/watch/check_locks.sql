-- postrider.check_locks() → whose open transaction holds what of ours, and whether we wait for it
--
-- Internal, by health_check. Degraded while a session of a dispatcher waits for somebody else, and when a
-- transaction has kept a lock that excludes writers for 10 seconds. Names session, role, application and the
-- strongest lock of the three that matter most. Row locks show as RowShareLock or RowExclusiveLock of
-- their table. Our own sessions are left out. Ordinary senders are named, too, and harm nobody.
create or replace function postrider.check_locks()
returns table (status text, details text)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    with sessions as materialized (
        select
            a.pid, a.usename, a.application_name, a.state, a.wait_event_type, a.xact_start,
            a.application_name like 'postrider%' and a.usesysid = n.nspowner as is_ours
        from pg_stat_activity a
        join pg_namespace n on n.nspname = 'postrider'
        where a.datname = current_database()
        and a.pid <> pg_backend_pid()
    ), waiting as materialized (
        -- Only for sessions that wait: the lock manager stands still for a moment each time.
        select b.pid, count(*) as session_count
        from sessions s
        cross join lateral unnest(pg_blocking_pids(s.pid)) b (pid)
        where s.is_ours
        and s.wait_event_type = 'Lock'
        and b.pid not in (select o.pid from sessions o where o.is_ours)
        group by b.pid
    ), held as materialized (
        select distinct on (l.pid, l.virtualtransaction)
            l.pid, l.virtualtransaction, l.mode, c.relname, m.strength
        from pg_locks l
        join pg_database d on d.oid = l.database and d.datname = current_database()
        join pg_class c on c.oid = l.relation and c.relnamespace = 'postrider'::regnamespace
        cross join lateral array_position(
            array[
                'RowShareLock', 'RowExclusiveLock', 'ShareUpdateExclusiveLock', 'ShareLock',
                'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'],
            l.mode) m (strength)
        where l.locktype = 'relation'
        and l.granted
        and m.strength is not null
        order by l.pid, l.virtualtransaction, m.strength desc, c.relname
    ), holders as (
        select
            coalesce(h.pid, w.pid) as pid, p.gid, coalesce(s.usename, p.owner) as role,
            nullif(s.application_name, '') as application_name, s.state, h.mode, h.relname,
            coalesce(h.strength >= 3, false) as is_strong, coalesce(w.session_count, 0) as session_count,
            greatest(extract(epoch from clock_timestamp() - coalesce(s.xact_start, p.prepared)), 0)
                ::double precision as age
        from held h
        full join waiting w on w.pid = h.pid
        left join sessions s on s.pid = coalesce(h.pid, w.pid)
        -- A prepared transaction keeps the number of its session's until the next restart.
        left join pg_locks t
            on h.pid is null
            and t.pid is null
            and t.locktype = 'transactionid'
            and t.virtualtransaction = h.virtualtransaction
        left join pg_prepared_xacts p on p.transaction = t.transactionid
        where not coalesce(s.is_ours, false)
        and coalesce(h.pid, w.pid) is distinct from pg_backend_pid()
    ), worst as (
        select
            r.*,
            format(
                '%s%s holds %s%s',
                case
                    when r.gid is not null then format('prepared transaction ''%s''', r.gid)
                    else format('pid %s', r.pid)
                end,
                format(
                    ' (%s)', concat_ws(
                        ', ', 'role ' || r.role, 'application ' || r.application_name, r.state,
                        'for ' || postrider.describe_age(r.age))),
                coalesce(r.mode || ' on postrider.' || r.relname, 'a lock'),
                case
                    when r.session_count > 0
                        then format(', and %s of our sessions wait for it', r.session_count)
                    else ''
                end) as sentence
        from holders r
        order by r.session_count > 0 desc, r.is_strong desc, r.age desc nulls last
        limit 3
    )
    select
        case
            when bool_or(w.session_count > 0 or w.is_strong and w.age >= 10) then 'degraded'
            else 'healthy'
        end,
        coalesce(string_agg(w.sentence, '; '), 'no open transaction holds anything of ours')
    from worst w;
$$;
