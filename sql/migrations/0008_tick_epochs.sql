-- Whoever holds up ticks can be passed: its tick, should it come, counts for nothing.

-- Rises when somebody passes whoever makes a tick. A sequence, for everybody sees its last value at once.
create sequence postrider.tick_epoch;
-- Who makes a tick takes the first in the mode share update exclusive, who makes it past others the second: two do
-- it at a time only where one holds up the other.
create table postrider.tick_turn ();
create table postrider.tick_passing ();
alter table postrider.tick
    -- The last value of tick_epoch when it was made.
    add column epoch bigint not null default 0,
    -- Made past others: between that tick and this one none counts.
    add column passes_after bigint;
create index tick_passes_after on postrider.tick (id) where passes_after is not null;
-- It has another parameter.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = 'next_ticks'
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
-- Which of the ticks do not count.
alter type postrider.tick_span add attribute passed int8multirange;
