-- The database's clock may be set back or forward: nothing may rest on it alone.

-- Every transaction with a lower id had ended when the heartbeat was written.
alter table postrider.heartbeat add column horizon xid8;

-- Which slot rotating tables are written to. It moves on by one at a time (rotate_slots), so a clock that was
-- set forward empties nothing that was just written.
create table postrider.rotation (
    is_only_row boolean primary key default true check (is_only_row),
    slot smallint not null check (slot between 0 and 2),
    since timestamptz not null
);
insert into postrider.rotation (slot, since)
values ((floor(extract(epoch from clock_timestamp()) / 600)::bigint % 3)::smallint, clock_timestamp());

-- That the clock was set back, and how far what it put into the future has been brought back (bring_back). The
-- newest row is kept, and those that are not finished.
create table postrider.clock_jump (
    id bigint generated always as identity primary key,
    -- By the clock as it is since.
    at timestamptz not null default clock_timestamp(),
    back interval not null check (back > '0'),
    -- Transactions with higher ids did not see the clock as it was before.
    xid xid8 not null default pg_current_xact_id(),
    -- Transactions with lower ids did not see it as it is since.
    horizon xid8,
    -- In this round: what has been looked at, by (message, target) and by execution, and whether that was all.
    message_id bigint not null default 0,
    target integer not null default 0,
    execution_id bigint not null default 0,
    is_begun boolean not null default false,
    are_messages_over boolean not null default false,
    are_executions_over boolean not null default false,
    -- Something was held by somebody else, or by a transaction that had not ended: there is another round.
    is_incomplete boolean not null default false,
    next_at timestamptz not null default clock_timestamp(),
    brought_count bigint not null default 0,
    finished_at timestamptz
);
insert into postrider.chore (name) values ('clock');

-- They have other parameters, or other columns in what they return.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = any (array[
            'heartbeat', 'live_dispatchers', 'acquire_shards', 'end_stale_flushes', 'save_circuits'])
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
