-- postrider.open_transactions(limit) → the oldest open transactions of the cluster
--
-- Internal. Sessions of all databases and prepared transactions; of autovacuum none. `name` is what
-- ends it: a session's application_name is for people. Sessions whose activity this role may not see
-- have no age and are left out.
create or replace function postrider.open_transactions(p_limit integer)
returns table (
    kind text,
    pid integer,
    gid text,
    database text,
    state text,
    application_name text,
    age double precision)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        t.kind, t.pid, t.gid, t.database, t.state, t.application_name,
        greatest(extract(epoch from clock_timestamp() - t.started_at), 0)::double precision
    from (
        select
            'session', a.pid, null, a.datname::text, a.state, a.application_name, a.xact_start
        from pg_stat_activity a
        where a.xact_start is not null
        and a.pid <> pg_backend_pid()
        and a.leader_pid is null
        and a.backend_type is distinct from 'autovacuum worker'
        union all
        select 'prepared transaction', null, p.gid, p.database::text, 'prepared', null, p.prepared
        from pg_prepared_xacts p
    ) t (kind, pid, gid, database, state, application_name, started_at)
    order by t.started_at
    limit p_limit;
$$;
