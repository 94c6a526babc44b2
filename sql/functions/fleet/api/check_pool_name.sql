-- postrider.check_pool_name(name)
--
-- Worker, application, operator, admin, monitor: the command line calls it for a filter that has found nothing. Raises
-- 42704 when no worker and no execution is or was of this pool, see check_action_name; `default` is always
-- known. Null passes. Uses worker_pool, execution_end_xid.
create or replace function postrider.check_pool_name(p_name text)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_name is null
        or p_name = 'default'
        or exists (select from postrider.worker w where w.pool = p_name)
        or exists (
            select
            from postrider.execution_total t
            where t.pool = p_name
            and t.pool <> ''
        )
        or exists (
            select
            from postrider.execution_end e
            where e.xid >= (select r.horizon from postrider.execution_rollup r)
            and e.pool = p_name
        )
        or exists (select from postrider.live_execution l where l.pool = p_name)
    then
        return;
    end if;
    raise exception 'Pool ''%'' does not exist', left(p_name, 200) using errcode = '42704';
end;
$$;
