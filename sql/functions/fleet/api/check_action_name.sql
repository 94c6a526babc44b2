-- postrider.check_action_name(name)
--
-- Application, operator, admin, monitor: the command line calls it for a filter that has found nothing. An action needs
-- no row: raises 42704 when nothing is set for it and no execution has or had it, by what has not ended, the
-- totals, and what they do not have yet. Null passes. Uses action_pkey, execution_end_xid.
create or replace function postrider.check_action_name(p_name text)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_name is null
        or exists (select from postrider.action a where a.name = p_name)
        or exists (select from postrider.execution_total t where t.action = p_name)
        or exists (
            select
            from postrider.execution_end e
            where e.xid >= (select r.horizon from postrider.execution_rollup r)
            and e.action = p_name
        )
        or exists (select from postrider.live_execution l where l.action = p_name)
    then
        return;
    end if;
    raise exception 'Action ''%'' does not exist', left(p_name, 200) using errcode = '42704';
end;
$$;
