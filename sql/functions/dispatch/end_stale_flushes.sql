-- postrider.end_stale_flushes(silent_ids, silent_seqs) → how many connections were ended
--
-- Internal. A dispatcher that was stopped in the middle of sending its results may hold the fence, which
-- a takeover needs. Ends such connections, and only those of dispatchers whose lease is over (live_dispatchers).
create or replace function postrider.end_stale_flushes(
    p_silent_ids uuid[] default null, p_silent_seqs bigint[] default null)
returns integer
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    select count(pg_terminate_backend(a.pid))::integer
    from pg_stat_activity a
    where a.datname = current_database()
    and a.usename = current_user
    and a.application_name like 'postrider %'
    and a.pid <> pg_backend_pid()
    and a.application_name not in (
        select 'postrider ' || l.id
        from postrider.live_dispatchers(p_silent_ids, p_silent_seqs) l (id)
    )
    and exists (
        select
        from pg_locks k
        where k.pid = a.pid
        and k.locktype = 'relation'
        and k.database = (select d.oid from pg_database d where d.datname = current_database())
        and k.relation = 'postrider.fence'::regclass
        and k.granted
    );
$$;
