-- postrider.redrive_endpoint(endpoint, rate) → how many dead letters were put back
--
-- Admin. See redrive_matching, of which it is the short form for an endpoint. Raises 22004 (a null
-- name), 42704 (no such endpoint), 22023 (a rate out of its range).
create or replace function postrider.redrive_endpoint(
    p_endpoint_name text, p_rate integer default null)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    return postrider.redrive_matching(p_endpoint_name, p_rate => redrive_endpoint.p_rate);
end;
$$;
