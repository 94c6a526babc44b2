-- postrider.advance_sequences() → the newest sequence number that the log may have given away here
--
-- Internal, by rebase_log, which has locked that of messages. Brings every sequence to where the rows are that it
-- numbers: a dump holds where they stood, logical replication does not. That of messages goes on beyond what the
-- original, or another copy that was adopted, may give away meanwhile (restart_number), so that no id comes twice:
-- number_gap says what was left out. A rollback undoes only that one; others have lost numbers then, and nothing else.
create or replace function postrider.advance_sequences()
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    margin constant bigint := 4294967296;
    numbered record;
    newest bigint;
    restart bigint;
begin
    for numbered in
        select d.objid::regclass as sequence, d.refobjid::regclass as relation, a.attname as attribute
        from pg_depend d
        join pg_class c on c.oid = d.objid and c.relkind = 'S'
        join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
        where d.classid = 'pg_class'::regclass
        and d.refclassid = 'pg_class'::regclass
        and d.deptype = 'i'
        and c.relnamespace = 'postrider'::regnamespace
    loop
        execute format(
            'select setval(%L, m.newest) from %s s cross join (select max(t.%I) as newest from %s t) m
            where m.newest > s.last_value or m.newest = s.last_value and not s.is_called',
            numbered.sequence, numbered.sequence, numbered.attribute, numbered.relation);
    end loop;
    perform setval('postrider.rotation_sequence', n.newest)
    from postrider.rotation_sequence s
    cross join lateral (
        select greatest(
            (select max(c.seq) from postrider.checkpoint c),
            (select max(c.seq) from postrider.claim c),
            (select max(h.seq) from postrider.heartbeat h),
            (select max(g.seq) from postrider.rate_grant g),
            (select max(greatest(p.seq, p.generation)) from postrider.consumer_position p),
            (select max(a.seq) from postrider.consumer_attempt a),
            (select max(l.seq) from postrider.consumer_lease l)) as newest
    ) n
    where n.newest > s.last_value;
    perform setval('postrider.execution_fence', n.newest)
    from postrider.execution_fence s
    cross join lateral (
        select max(e.fence) as newest from postrider.live_execution e
    ) n
    where n.newest > s.last_value;
    -- It names the one that is written to, which has to be there.
    perform setval('postrider.present_generation', n.newest)
    from postrider.present_generation s
    cross join lateral (select max(g.id) as newest from postrider.execution_generation g) n
    where n.newest > s.last_value
    or not s.is_called;

    select greatest(s.last_value, (select m.id >> 10 from postrider.message m order by m.id desc limit 1))
    into newest
    from postrider.message_sequence s;
    restart := postrider.restart_number(newest, margin, clock_timestamp());
    perform setval('postrider.message_sequence', restart);
    insert into postrider.number_gap (after_number, last_number)
    values (newest, restart);
    return newest;
end;
$$;
