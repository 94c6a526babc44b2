-- postrider.is_marked_full(endpoint_id, size_limit) → whether as much waits for the endpoint as this limit of its own allows
--
-- Internal, by who sends to an endpoint with a limit. A function, so that nobody else pays for it: what is read here is
-- planned and locked only when it is called. While no dispatcher is at work, nobody takes a mark away, and none counts.
-- Uses full_endpoint_pkey.
create or replace function postrider.is_marked_full(p_endpoint_id integer, p_size_limit bigint)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if not exists (
        select
        from postrider.full_endpoint f
        where f.endpoint_id = p_endpoint_id
        and f.size_limit = p_size_limit
    ) then
        return false;
    end if;
    return exists (select from postrider.acting_dispatchers());
end;
$$;
