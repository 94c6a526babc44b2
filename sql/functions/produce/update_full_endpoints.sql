-- postrider.update_full_endpoints() → after how many milliseconds to do it again
--
-- Internal, by dispatchers. Says of each endpoint with a limit of its own whether as much waits for it as that
-- allows, by what dispatchers have reported (pending_deliveries). One that was full takes messages again when
-- a tenth of its limit is free. The mark has the limit that it was judged by: whoever sends by another one, because
-- somebody has just altered the endpoint, does not heed it. Nobody who has locked an endpoint is waited for, nor
-- passed over. Uses endpoints_limited, full_endpoint_pkey.
create or replace function postrider.update_full_endpoints()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
as $$
declare
    full_ones integer[];
    limits bigint[];
begin
    if not exists (select from postrider.endpoints e where e.config ? 'max_queue_size')
        and not exists (select from postrider.full_endpoint m)
    then
        return 5000;
    end if;
    select coalesce(array_agg(e.id), '{}'), coalesce(array_agg(l.size_limit), '{}')
    into full_ones, limits
    from postrider.endpoints e
    cross join lateral (select (e.config ->> 'max_queue_size')::bigint) l (size_limit)
    join postrider.pending_deliveries() p on p.endpoint_id = e.id
    where e.config ? 'max_queue_size'
    and l.size_limit > 0
    and (
        p.delivery_count >= l.size_limit
        or p.delivery_count > l.size_limit * 0.9
        and exists (
            select
            from postrider.full_endpoint m
            where m.endpoint_id = e.id
            and m.size_limit = l.size_limit
        )
    );
    -- Two dispatchers that do it at a time do it in the same order.
    insert into postrider.full_endpoint (endpoint_id, size_limit)
    select j.id, j.size_limit
    from unnest(full_ones, limits) j (id, size_limit)
    order by j.id
    on conflict do nothing;
    delete from postrider.full_endpoint m
    where m.ctid = any (array(
        select k.ctid
        from postrider.full_endpoint k
        where not exists (
            select
            from unnest(full_ones, limits) j (id, size_limit)
            where j.id = k.endpoint_id
            and j.size_limit = k.size_limit
        )
        for update skip locked));
    return 1000;
end;
$$;
