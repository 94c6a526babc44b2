-- postrider.live_dispatchers() → the ids of all dispatchers whose lease has not run out
--
-- Internal. A lease runs by this database's clock. Uses heartbeat_dispatcher.
create or replace function postrider.live_dispatchers()
returns setof uuid
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    select d.id
    from postrider.dispatcher d
    cross join lateral (
        select h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where newest.lease_until > clock_timestamp();
$$;
