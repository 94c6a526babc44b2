-- postrider.direct_target(endpoint_name) → the target that stands for "send to this endpoint"
--
-- Internal. Raises 22004 (a null name), 42704 (no such endpoint), 55000 (disabled).
create or replace function postrider.direct_target(p_endpoint_name text)
returns integer
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    target integer;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.direct_subscription_id
    into target
    from postrider.endpoints e
    where e.name = p_endpoint_name
    and e.enabled;
    if target is null then
        perform postrider.refuse_endpoint(p_endpoint_name);
    end if;
    return target;
end;
$$;
