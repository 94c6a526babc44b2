-- postrider.live_dispatchers(silent_ids, silent_seqs) → the ids of all dispatchers that may own something
--
-- Internal. A lease is over when its time is, by this database's clock, and the dispatcher has no session any
-- more: one that has may have been renewing it when the clock was set forward. And it is over, whatever the
-- clock says and whoever is connected, when the newest heartbeat is still the one that the caller has seen for
-- as long as the lease lasts, by its own clock: those are the silent ones. Null is said by who does not look for
-- silence, a dispatcher of a version before: it would wait for a connection that the network keeps open for hours.
-- Uses heartbeat_dispatcher.
create or replace function postrider.live_dispatchers(
    p_silent_ids uuid[] default '{}', p_silent_seqs bigint[] default '{}')
returns setof uuid
language sql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
    select d.id
    from postrider.dispatcher d
    cross join lateral (
        select h.seq, h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where newest.lease_until <> 'epoch'
    and (
        newest.lease_until > clock_timestamp()
        or p_silent_ids is not null and postrider.has_session(d.id))
    and not exists (
        select
        from unnest(p_silent_ids, p_silent_seqs) s (id, seq)
        where s.id = d.id
        and s.seq = newest.seq
    );
$$;
