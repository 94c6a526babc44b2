-- postrider.refuse_held_worker(name)
--
-- Internal, by who waited for a worker in vain. Raises 55006, with the session that holds it: the one that has locked
-- its row or its lock, or else those that write workers.
create or replace function postrider.refuse_held_worker(p_name text)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    holders text;
begin
    with held as (
        select k.xmax
        from postrider.worker w
        join postrider.worker_lock k on k.worker_id = w.id
        where w.name = p_name
        union all
        select w.xmax from postrider.worker w where w.name = p_name
    )
    select string_agg(distinct l.pid::text, ', ')
    into holders
    from pg_locks l
    where l.pid <> pg_backend_pid()
    and l.granted
    and l.locktype = 'transactionid'
    and l.transactionid in (select h.xmax from held h);
    if holders is null then
        select string_agg(distinct l.pid::text, ', ')
        into holders
        from pg_locks l
        where l.pid <> pg_backend_pid()
        and l.granted
        and l.locktype = 'relation'
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
        and l.relation = 'postrider.worker'::regclass
        and l.mode = 'RowExclusiveLock';
    end if;
    raise exception 'Worker ''%'' is held by another transaction', left(p_name, 200)
        using errcode = '55006',
            detail = format('pid %s', coalesce(holders, 'unknown')),
            hint = 'It takes executions for this worker, submits them to it or changes it: end that transaction.';
end;
$$;
