-- Counts end at $1. Index: dead_letter_failed.
select json_build_object(
    'database', current_database(),
    'endpoints', (
        select count(*)
        from (select from postrider.endpoints limit $1::bigint) e
    ),
    'disabled_endpoints', (
        select count(*)
        from (select from postrider.endpoints e where not e.enabled limit $1::bigint) e
    ),
    'dead_letters', (
        select count(*)
        from (
            select
            from postrider.dead_letter l
            where l.status = 'failed'
            limit $1::bigint
        ) l
    ),
    'oldest_transaction', (
        select json_build_object(
            'age_seconds', round(extract(epoch from clock_timestamp() - t.started_at)),
            'pid', t.pid, 'kind', t.kind, 'name', t.name)
        from (
            select a.xact_start, a.pid, coalesce(a.state, 'session'), a.application_name
            from pg_stat_activity a
            where a.datname = current_database()
            and a.pid <> pg_backend_pid()
            and a.xact_start is not null
            union all
            select p.prepared, null, 'prepared', p.gid
            from pg_prepared_xacts p
            where p.database = current_database()
        ) t (started_at, pid, kind, name)
        order by t.started_at
        limit 1
    ));
