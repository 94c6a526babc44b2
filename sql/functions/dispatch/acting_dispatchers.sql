-- postrider.acting_dispatchers() → the ids of all dispatchers that can be believed to be at work
--
-- Internal. Without those whose newest heartbeat is from the future: the clock was set back since, and they may be
-- dead. What they own is theirs until they have been silent for the time of a lease (live_dispatchers); what anybody
-- may do who finds nobody at work need not wait for that. Just after the clock was set, until the next heartbeats,
-- nobody is believed. Uses heartbeat_dispatcher.
create or replace function postrider.acting_dispatchers()
returns setof uuid
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    select d.id
    from postrider.dispatcher d
    cross join lateral (
        select h.at, h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where newest.lease_until > clock_timestamp()
    and newest.at <= clock_timestamp() + interval '1 second';
$$;
