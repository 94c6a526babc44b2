-- postrider.drop_endpoint(endpoint_name, force) → true
--
-- Admin. Removes an endpoint with its secrets and subscriptions; messages keep the number of their
-- target. Raises 22004 (a null name), 42704 (no such endpoint), 55000 (messages wait for it) unless
-- forced: then what waits moves to the dead letter queue with the cause `endpoint_dropped`, at once
-- what is in postrider.deferred, and by the dispatcher that reads it what is not read yet.
create or replace function postrider.drop_endpoint(
    endpoint_name text, p_force boolean default false)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    dropped postrider.endpoints;
    has_deferred boolean;
    has_unread boolean;
begin
    if drop_endpoint.endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.*
    into dropped
    from postrider.endpoints e
    where e.name = drop_endpoint.endpoint_name
    for update;
    if dropped.id is null then
        raise exception 'Endpoint ''%'' does not exist', drop_endpoint.endpoint_name
            using errcode = '42704';
    end if;

    select exists (select from postrider.deferred d where d.endpoint_id = dropped.id)
    into has_deferred;
    select coalesce(bool_or(postrider.has_unread_messages(s.id)), false)
    into has_unread
    from postrider.subscriptions s
    where s.endpoint_id = dropped.id;
    if (has_deferred or has_unread) and p_force is not true then
        raise exception 'Endpoint ''%'' has messages waiting for it', dropped.name
            using errcode = '55000',
                hint = 'p_force => true moves them to the dead letter queue.';
    end if;
    perform postrider.bury_deferred(dropped.id, 'endpoint_dropped');
    delete from postrider.endpoints e where e.id = dropped.id;
    return true;
end;
$$;
