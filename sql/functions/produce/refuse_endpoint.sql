-- postrider.refuse_endpoint(name)
--
-- Internal. Says why nothing can be sent to an endpoint: 42704 when there is none of that name, 55000 when it is
-- disabled, 53400 when it is full.
create or replace function postrider.refuse_endpoint(p_endpoint_name text)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if exists (
        select
        from postrider.endpoints e
        where e.name = p_endpoint_name
        and e.enabled
        -- It was full when the caller looked, and may not be any more.
        and e.config ? 'max_queue_size'
    ) then
        perform postrider.refuse_full_endpoint(p_endpoint_name, 1);
    end if;
    if exists (select from postrider.endpoints e where e.name = p_endpoint_name) then
        raise exception 'Endpoint ''%'' is disabled', p_endpoint_name using errcode = '55000';
    end if;
    raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
end;
$$;
