-- postrider.redrive_endpoint(endpoint, rate) → the job's id, an estimate, whether there may be more
--
-- Operator, admin. See redrive_matching, of which it is the short form for an endpoint. Raises 22004 (a null
-- name), 42704 (no such endpoint), 22023 (a rate out of its range).
create or replace function postrider.redrive_endpoint(
    p_endpoint_name text,
    p_rate integer default null,
    out job_id bigint,
    out estimate bigint,
    out has_more boolean)
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select r.job_id, r.estimate, r.has_more
    into job_id, estimate, has_more
    from postrider.redrive_matching(p_endpoint_name, p_rate => redrive_endpoint.p_rate) r;
end;
$$;
