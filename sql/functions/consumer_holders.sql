-- postrider.consumer_holders() → who reads which partitions of consumers at this moment
--
-- Admin, application, monitor: the view consumers calls it. The transaction that has the lock: by its
-- session, or, once it is prepared, by its gid. What the schema's owner may not see is null.
create or replace function postrider.consumer_holders()
returns table (
    consumer_id integer,
    partition integer,
    pid integer,
    gid text,
    since timestamptz,
    application_name text)
language sql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        (l.objid::bigint / 64)::integer, (l.objid::bigint % 64)::integer, l.pid, p.gid,
        coalesce(a.xact_start, p.prepared), nullif(a.application_name, '')
    from pg_locks l
    join pg_database d on d.oid = l.database and d.datname = current_database()
    left join pg_stat_activity a on a.pid = l.pid
    -- A prepared transaction keeps the number of its session's until the next restart.
    left join pg_locks t
        on l.pid is null
        and t.pid is null
        and t.locktype = 'transactionid'
        and t.virtualtransaction = l.virtualtransaction
    left join pg_prepared_xacts p on p.transaction = t.transactionid
    where l.locktype = 'advisory'
    and l.classid = 1886352245
    and l.objsubid = 2
    and l.granted;
$$;
