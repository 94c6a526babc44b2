-- postrider.is_deferred(message_id, target) → whether the delivery waits in postrider.deferred
--
-- Application, operator, admin, monitor: views call it for messages of the log. A function, and said to be cheap,
-- because a planner that sees the table here would rather read all of it, and put what it reads in
-- order by a sort, than look at fifty messages one by one. Uses deferred_pkey.
create or replace function postrider.is_deferred(p_message_id bigint, p_target integer)
returns boolean
language plpgsql
stable
security definer
cost 10
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return exists (
        select
        from postrider.deferred d
        where d.message_id = p_message_id
        and d.target = p_target
    );
end;
$$;
