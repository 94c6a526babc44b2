-- postrider.forget_requests(most) → how many were forgotten
--
-- Internal, by any dispatcher once a minute. Answers to requests with an Idempotency-Key that are older than a day, the oldest first, at
-- most so many. Uses api_request_at.
create or replace function postrider.forget_requests(p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    places tid[];
begin
    select array_agg(o.ctid)
    into places
    from (
        select r.ctid
        from postrider.api_request r
        where r.at < now() - interval '24 hours'
        order by r.at
        limit p_most
        for update of r skip locked
    ) o;
    delete from postrider.api_request r
    where r.ctid = any (places);
    return coalesce(cardinality(places), 0);
end;
$$;
