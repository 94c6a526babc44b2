-- postrider.consumer_holders() → who reads which partitions of consumers at this moment
--
-- Consumer, application, operator, admin, monitor: the view consumers calls it. The transaction that has the lock: by its
-- session, or, once it is prepared, by its gid. What the schema's owner may not see is null.
--
-- A row says which transaction has locked it last, and that one, while it lasts, has a lock of its own id. A
-- savepoint has an id of its own, whose lock is gone when it is released: then it is the one that has
-- locked rows of this table and none that was told by its id, if there is only one.
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
    with lock as materialized (
        select
            l.locktype, l.relation, l.virtualtransaction, l.mode, l.pid,
            l.transactionid::text::bigint as id
        from pg_locks l
        where l.granted
        and (
            l.locktype = 'transactionid'
            or l.locktype = 'relation'
            and l.relation = 'postrider.consumer_lock'::regclass
            and l.database = (select d.oid from pg_database d where d.datname = current_database()))
    ), held as materialized (
        select c.consumer_id, c.partition, c.locked_by, t.virtualtransaction
        from (
            select k.consumer_id, k.partition, k.xmax::text::bigint as locked_by
            from postrider.consumer_lock k
            where k.xmax::text <> '0'
            and k.partition >= 0
        ) c
        left join lock t on t.locktype = 'transactionid' and t.id = c.locked_by
        where t.id is not null
        or pg_xact_status(postrider.full_id(c.locked_by)) = 'in progress'
    ), other as materialized (
        select min(l.virtualtransaction) as virtualtransaction
        from lock l
        where l.locktype = 'relation'
        and l.mode = 'RowShareLock'
        and not exists (select from held h where h.virtualtransaction = l.virtualtransaction)
        having count(distinct l.virtualtransaction) = 1
    )
    select
        h.consumer_id, h.partition::integer, l.pid, p.gid, coalesce(a.xact_start, p.prepared),
        nullif(a.application_name, '')
    from held h
    left join other o on h.virtualtransaction is null
    -- A prepared transaction keeps the number of its session's until the next restart.
    left join lateral (
        select min(k.pid) as pid, min(k.id) filter (where k.locktype = 'transactionid') as id
        from lock k
        where k.virtualtransaction = coalesce(h.virtualtransaction, o.virtualtransaction)
    ) l on true
    left join pg_stat_activity a on a.pid = l.pid
    left join pg_prepared_xacts p on l.pid is null and p.transaction::text::bigint = l.id;
$$;
