-- postrider.bury_orphans() → how many dead letters were made
--
-- Internal, by any dispatcher once a minute. Deliveries that wait for an endpoint that was dropped
-- while they were in flight. One probe of deferred_due per endpoint that has anything waiting.
create or replace function postrider.bury_orphans()
returns integer
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    with recursive waiting as (
        (
            select d.endpoint_id
            from postrider.deferred d
            order by d.endpoint_id
            limit 1
        )
        union all
        select (
            select d.endpoint_id
            from postrider.deferred d
            where d.endpoint_id > w.endpoint_id
            order by d.endpoint_id
            limit 1
        )
        from waiting w
        where w.endpoint_id is not null
    )
    select coalesce(sum(postrider.bury_deferred(w.endpoint_id, 'endpoint_dropped')), 0)::integer
    from waiting w
    where w.endpoint_id is not null
    and not exists (select from postrider.endpoints e where e.id = w.endpoint_id);
$$;
