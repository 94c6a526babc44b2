-- The view is made anew, and does not call these any more. It is not dropped: others' views and rights may hang on it.
-- Until the new one comes, at the end of this transaction, it has no rows.
do $do$
declare
    columns text;
    former regprocedure;
begin
    select string_agg(
        format('null::%s as %I', format_type(a.atttypid, a.atttypmod), a.attname), ', '
        order by a.attnum)
    into columns
    from pg_attribute a
    where a.attrelid = to_regclass('postrider.queue')
    and a.attnum > 0
    and not a.attisdropped;
    if columns is not null then
        execute format('create or replace view postrider.queue as select %s where false', columns);
    end if;
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = any (array['done_map', 'done_map_start'])
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;

-- Senders wait from here on: nothing below takes long. Both indexes have been built on each partition
-- (sql/beforehand/), and become parts of these.
lock table postrider.message in access exclusive mode;

-- The views queue and archive read the log in order of id, upwards and downwards, a kind of message at a time: what was
-- sent to one endpoint, and what was published to one target, to two to four, and to more. Each kind is a range of an
-- index in which nothing else stands, so that nobody walks over a million of one kind to find the next of another.
-- Booleans, because a planner that is told a boolean column knows that what follows it is in order.
create index message_direct_id on postrider.message (id)
where endpoint_name is not null;

drop index postrider.message_published_id;
create index message_published_id on postrider.message (
    (cardinality(targets) > 1), (cardinality(targets) > 4), id)
include (targets, event_type)
where event_type is not null;
