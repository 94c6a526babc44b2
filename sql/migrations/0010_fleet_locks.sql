-- Locks of fleets are rows and relations, which nobody else has a right to: every login may take any advisory lock.

lock table postrider.worker in share row exclusive mode;

-- Who gives executions to a worker, or takes its name, has locked its row to the end of the transaction. It is not
-- the worker's row: a heartbeat must not wait for it. Made with the worker, removed when it is gone (forget_executions).
create table postrider.worker_lock (
    worker_id integer primary key
);
insert into postrider.worker_lock (worker_id) select w.id from postrider.worker w;

-- Locked as a whole: see "Generations" in ARCHITECTURE.md. Always empty. A generation has the one that its id
-- leads to, by the remainder; two that are there at a time have two.
do $do$
begin
    for k in 0..31 loop
        execute format('create table postrider.generation_lock_%s ()', k);
    end loop;
end;
$do$;

-- Who schedules an execution of an action with a limit has locked one of its slots to the end of the
-- transaction, and notes it on the execution. As many as the limit was at the highest; nobody changes one. Its
-- own id, which never comes back: whoever drops an action need not touch its slots (forget_executions does).
alter table postrider.action add column id integer generated always as identity;
create table postrider.action_slot (
    action_id integer not null,
    slot smallint not null check (slot between 1 and 10000),
    primary key (action_id, slot)
);
insert into postrider.action_slot (action_id, slot)
select a.id, g.slot
from postrider.action a
cross join generate_series(1, a.concurrency) g (slot);
-- Null: its action had no limit when it was scheduled.
alter table postrider.live_execution add column slot smallint;
-- It has other parameters.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = 'lock_worker'
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
