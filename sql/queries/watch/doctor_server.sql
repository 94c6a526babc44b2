-- What of the server decides how we do, and the database's time.
-- Index: none, catalogs only.
select json_build_object(
    'version', current_setting('server_version'),
    'version_number', current_setting('server_version_num')::integer,
    'is_standby', pg_is_in_recovery(),
    'now_seconds', extract(epoch from clock_timestamp()),
    'connection_count', (
        select count(*)
        from pg_stat_activity a
        where a.backend_type = 'client backend'
    ),
    'max_connections',
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
    'fsync', current_setting('fsync'),
    'full_page_writes', current_setting('full_page_writes'),
    'autovacuum', current_setting('autovacuum'),
    'track_counts', current_setting('track_counts'),
    'frozen_age', (
        select age(d.datfrozenxid)
        from pg_database d
        where d.datname = current_database()
    ),
    'freeze_max_age', current_setting('autovacuum_freeze_max_age')::integer);
