-- postrider.refuse_full_endpoint(name, count)
--
-- Internal. Raises 53400: the endpoint's own limit is met.
create or replace function postrider.refuse_full_endpoint(p_endpoint_name text, p_count bigint)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    raise exception
        '[postrider] Queue backpressure: % more on top of what waits for endpoint ''%'' would exceed limit %',
        p_count, p_endpoint_name, (
            select e.config ->> 'max_queue_size'
            from postrider.endpoints e
            where e.name = p_endpoint_name
        )
        using errcode = '53400',
            hint = 'Send again when messages have been delivered, or raise max_queue_size of the endpoint.';
end;
$$;
