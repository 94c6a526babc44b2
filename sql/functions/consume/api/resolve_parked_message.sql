-- postrider.resolve_parked_message(id) → true
--
-- Consumer, application, operator, admin. Removes a parked message, in the caller's transaction: whoever processes it there
-- has it processed and removed, or neither; event_log says who. Waits for another transaction that removes the same. Raises
-- 22004 (a null), 42704 (no such parked message). Uses parked_message_pkey.
create or replace function postrider.resolve_parked_message(p_parked_id bigint)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    removed record;
begin
    if p_parked_id is null then
        raise exception 'Parked message id must not be null' using errcode = '22004';
    end if;
    delete from postrider.parked_message k
    where k.id = p_parked_id
    returning k.* into removed;
    if not found then
        raise exception 'Parked message % does not exist', p_parked_id using errcode = '42704';
    end if;
    insert into postrider.event_log (event, details)
    select
        'consumer.message_resolved',
        jsonb_build_object(
            'consumer', c.name, 'id', removed.id, 'message_id', removed.message_id, 'by', session_user,
            'before', jsonb_build_object('attempt_count', removed.attempt_count), 'after', null)
    from postrider.consumer c
    where c.id = removed.consumer_id;
    return true;
end;
$$;
