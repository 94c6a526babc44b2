-- postrider.retire_endpoint(endpoint_id, reason) → whether it was in service until now
--
-- Internal. Disables an endpoint without anybody having asked for it, and says why in event_log. Waits for
-- no application: when somebody keeps the endpoint or a subscription of it locked, it is false.
create or replace function postrider.retire_endpoint(p_endpoint_id integer, p_reason text)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '100ms'
as $$
declare
    retired text;
begin
    update postrider.endpoints e
    set enabled = false
    where e.id = (
        select k.id
        from postrider.endpoints k
        where k.id = p_endpoint_id
        and k.enabled
        for update skip locked
    )
    returning e.name into retired;
    if retired is null then
        return false;
    end if;
    insert into postrider.event_log (event, endpoint_name, details)
    values ('endpoint.auto_disabled', retired, jsonb_build_object('reason', p_reason));
    return true;
exception
    when lock_not_available then
        return false;
end;
$$;
