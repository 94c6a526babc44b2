-- postrider.execution_key_holder(key, action, parameters) → the execution that has an idempotency key, null if none
--
-- Internal. Raises 23505 when it is of another action or has other parameters. Where it goes, how long it may take and the
-- like are not compared: who submits it again may have chosen another worker. Uses execution_idempotency_key.
create or replace function postrider.execution_key_holder(p_key text, p_action text, p_parameters jsonb)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    holder record;
begin
    select e.id, e.action, e.parameters = p_parameters as is_same
    into holder
    from postrider.execution e
    where e.idempotency_key = p_key;
    if holder.action <> p_action or not holder.is_same then
        raise exception 'Idempotency key ''%'' conflict: same key with different %', p_key,
            case when holder.action <> p_action then 'action' else 'parameters' end
            using errcode = '23505', hint = format('The key belongs to execution %s.', holder.id);
    end if;
    return holder.id;
end;
$$;
