-- postrider.update_full_endpoints() → after how many milliseconds to do it again
--
-- Internal, by dispatchers. Says of each endpoint with a limit of its own whether as much waits for it as that
-- allows, by what dispatchers have reported (pending_deliveries). One that was full takes messages again when
-- a tenth of its limit is free. A row that somebody has locked is passed over. Uses endpoints_limited.
create or replace function postrider.update_full_endpoints()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
as $$
declare
    judged integer[];
    full_ones integer[];
    places tid[];
begin
    if not exists (select from postrider.endpoints e where e.config ? 'max_queue_size') then
        return 5000;
    end if;
    select
        array_agg(e.id),
        coalesce(
            array_agg(e.id) filter (
                where l.size_limit > 0
                and (p.delivery_count >= l.size_limit
                    or e.is_full and p.delivery_count > l.size_limit * 0.9)),
            '{}')
    into judged, full_ones
    from postrider.endpoints e
    cross join lateral (select (e.config ->> 'max_queue_size')::bigint) l (size_limit)
    left join postrider.pending_deliveries() p on p.endpoint_id = e.id
    where e.config ? 'max_queue_size';
    select array_agg(h.ctid)
    into places
    from (
        select e.ctid
        from postrider.endpoints e
        where e.config ? 'max_queue_size'
        and e.id = any (judged)
        and e.is_full <> (e.id = any (full_ones))
        for no key update skip locked
    ) h;
    update postrider.endpoints e
    set is_full = not e.is_full
    where e.ctid = any (places);
    return 1000;
end;
$$;
