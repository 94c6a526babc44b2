-- postrider.redrive_endpoint(endpoint) → how many dead letters were put back
--
-- Admin. See redrive_message. Raises 42704 when the endpoint does not exist.
create or replace function postrider.redrive_endpoint(p_endpoint_name text)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    wanted integer;
begin
    select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
    if wanted is null then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    return postrider.redrive_letters(array(
        select l.id
        from postrider.dead_letter l
        where l.endpoint_id = wanted
        and l.status = 'failed'
    ));
end;
$$;
