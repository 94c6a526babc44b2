-- postrider.switch_endpoint(endpoint, enabled, paused) → whether that changed anything
--
-- Internal: enable, disable, pause and resume. Null leaves it as it is. Logged by announce_endpoint. Raises
-- 22004 (a null name), 42704 (no such endpoint).
create or replace function postrider.switch_endpoint(
    p_endpoint_name text, p_enabled boolean, p_paused boolean)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    update postrider.endpoints e
    set enabled = coalesce(p_enabled, e.enabled),
        paused = coalesce(p_paused, e.paused)
    where e.name = p_endpoint_name
    and (e.enabled <> p_enabled or e.paused <> p_paused);
    if found then
        return true;
    end if;
    -- One that pause_all has paused is paused by itself from now on. That changes nothing for dispatchers, so
    -- announce_endpoint does not see it.
    update postrider.endpoints e
    set is_paused_with_all = false
    where e.name = p_endpoint_name
    and p_paused
    and e.is_paused_with_all;
    if found then
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'endpoint.paused', p_endpoint_name,
            jsonb_build_object(
                'by', session_user, 'before', jsonb_build_object('paused', 'with all'),
                'after', jsonb_build_object('paused', true)));
        return true;
    end if;
    if not exists (select from postrider.endpoints e where e.name = p_endpoint_name) then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    return false;
end;
$$;
