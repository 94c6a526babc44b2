-- postrider.reset_consumer(name, start) → true
--
-- Admin. The consumer goes on from there: see create_consumer. Waits some seconds for whoever has a batch
-- of it. What it has parked stays. Logged in event_log. Raises 22004 (a null), 22023 (a start that is
-- none), 42704 (no such consumer or message), 55006 (somebody holds it).
create or replace function postrider.reset_consumer(p_name text, p_start text default 'beginning')
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    reader postrider.consumer := postrider.known_consumer(p_name);
    start record;
    former jsonb;
    former_seqs bigint[];
begin
    select s.* into start from postrider.consumer_start(reader.ordering, p_start) s;
    perform postrider.hold_consumer(reader);
    select jsonb_object_agg(g.partition, p.message_id), array_agg(p.seq order by g.partition)
    into former, former_seqs
    from generate_series(0, reader.partition_count - 1) g (partition)
    cross join lateral postrider.newest_position(reader.id, g.partition) p;
    update postrider.consumer c
    set start_snapshot = start.start_snapshot,
        start_id = start.start_id,
        start_at = start.start_at
    where c.id = reader.id;
    -- One by one: no plan of all of them is as sure to take the index.
    for k in 0..reader.partition_count - 1 loop
        delete from postrider.consumer_position p
        where p.consumer_id = reader.id
        and p.partition = k
        and p.seq = former_seqs[k + 1];
    end loop;
    insert into postrider.consumer_position (
        consumer_id, partition, tick, xid, message_id, message_count)
    select reader.id, k, start.tick, start.xid, start.message_id, 0
    from generate_series(0, reader.partition_count - 1) k;
    insert into postrider.event_log (event, details)
    values (
        'consumer.reset',
        jsonb_build_object(
            'consumer', p_name, 'start', p_start, 'before', former,
            'after', (
                select jsonb_object_agg(k, start.message_id)
                from generate_series(0, reader.partition_count - 1) k),
            'by', session_user));
    return true;
end;
$$;
