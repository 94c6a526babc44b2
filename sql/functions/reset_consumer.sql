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
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    reader postrider.consumer := postrider.known_consumer(p_name);
    start record;
    former jsonb;
    former_partitions integer[];
    former_seqs bigint[];
begin
    select s.* into start from postrider.consumer_start(reader.ordering, p_start) s;
    perform postrider.hold_consumer(reader);
    select jsonb_object_agg(g.partition, p.message_id), array_agg(g.partition), array_agg(p.seq)
    into former, former_partitions, former_seqs
    from generate_series(0, reader.partition_count - 1) g (partition)
    cross join lateral postrider.newest_position(reader.id, g.partition) p;
    update postrider.consumer c
    set start_snapshot = start.start_snapshot,
        start_id = start.start_id,
        start_at = start.start_at
    where c.id = reader.id;
    delete from postrider.consumer_position p
    using unnest(former_partitions, former_seqs) f (partition, seq)
    where p.consumer_id = reader.id
    and p.partition = f.partition
    and p.seq = f.seq;
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
