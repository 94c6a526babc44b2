-- Who holds back vacuum, and what waits for the end of old transactions: sessions, prepared transactions,
-- replication slots. Sessions that we may not look into are counted.
-- Index: none, catalogs only.
select json_build_object(
    'sessions', (
        select coalesce(
            json_agg(
                json_build_object(
                    'pid', s.pid, 'role', s.usename, 'database', s.datname,
                    'application', nullif(s.application_name, ''), 'state', s.state,
                    'seconds', s.seconds, 'xid_age', s.xid_age)
                order by s.seconds desc),
            '[]')
        from (
            select
                a.pid, a.usename, a.datname, a.application_name, a.state,
                extract(epoch from clock_timestamp() - a.xact_start)::bigint as seconds,
                greatest(age(a.backend_xmin), age(a.backend_xid)) as xid_age
            from pg_stat_activity a
            where a.xact_start is not null
            and a.pid <> pg_backend_pid()
            and a.backend_type = 'client backend'
            order by a.xact_start
            limit 20
        ) s
    ),
    'prepared', (
        select coalesce(
            json_agg(
                json_build_object(
                    'gid', p.gid, 'database', p.database, 'role', p.owner,
                    'seconds', extract(epoch from clock_timestamp() - p.prepared)::bigint)
                order by p.prepared),
            '[]')
        from pg_prepared_xacts p
    ),
    'slots', (
        select coalesce(
            json_agg(
                json_build_object(
                    'name', r.slot_name, 'active', r.active,
                    'xid_age', greatest(age(r.xmin), age(r.catalog_xmin)),
                    'retained_bytes', case
                        when not pg_is_in_recovery()
                        then pg_wal_lsn_diff(pg_current_wal_lsn(), r.restart_lsn)::bigint
                    end)
                order by r.slot_name),
            '[]')
        from pg_replication_slots r
    ),
    'hidden_count', (
        select count(*)
        from pg_stat_activity a
        where a.query = '<insufficient privilege>'
    ),
    'role', current_user);
