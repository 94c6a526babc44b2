-- What one transaction that stays open, or one worker that is lost, makes others pay has a bound.

-- Senders and consumers wait from here on: nothing below takes long.
lock table postrider.endpoints, postrider.tick, postrider.worker in access exclusive mode;

-- Which endpoints are full, by the limit that they were judged by. Written by dispatchers (update_full_endpoints),
-- and in a table of its own: whoever has locked an endpoint keeps no mark where it is.
create table postrider.full_endpoint (
    endpoint_id integer,
    size_limit bigint,
    primary key (endpoint_id, size_limit)
);
drop index postrider.endpoints_full;
-- The column that had the mark stays for now: statements of the version before name it, and those that wait for this
-- migration would fail without it.
alter table postrider.endpoints
    -- Not every send should look into the config, which may be large.
    add column has_limit boolean not null generated always as (config ? 'max_queue_size') stored;

-- The index has been built on each partition (sql/beforehand/), and becomes a part of this one. Ticks between which
-- and the one that they build on others may lie, which do not count then. Beside a tick that is never finished all
-- others are made past it, thousands of them: all but the first say that nothing lies between.
drop index postrider.tick_passes_after;
create index tick_passes_over on postrider.tick (id) where passes_after < id - 1;

-- What a lost worker has left behind is recovered bit by bit. What waits for it alone, and is to fail
-- (stale_worker_policy), was requested before it was lost, under a fence up to this one. Null when nothing of that is
-- left.
alter table postrider.worker add column lost_fence bigint;
create index worker_lost on postrider.worker (id) where lost_fence is not null;

-- Which role has made a name known that nobody had used before: each may do so a bounded number of times, whatever
-- others do. Null where nobody remembers.
alter table postrider.worker add column named_by text;

-- It has another parameter.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = 'standing_claims'
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
