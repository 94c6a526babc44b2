-- postrider.drop_consumer(name) → true
--
-- Admin. What it has parked goes with it. Waits some seconds for whoever has a batch of it. Logged in
-- event_log. Raises 22004 (a null name), 42704 (no such consumer), 55006 (somebody holds it).
create or replace function postrider.drop_consumer(p_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    reader postrider.consumer := postrider.known_consumer(p_name);
begin
    perform postrider.hold_consumer(reader);
    delete from postrider.consumer c where c.id = reader.id;
    delete from postrider.consumer_position p where p.consumer_id = reader.id;
    delete from postrider.consumer_attempt a where a.consumer_id = reader.id;
    delete from postrider.consumer_lease l where l.consumer_id = reader.id;
    delete from postrider.consumer_lock l where l.consumer_id = reader.id;
    insert into postrider.event_log (event, details)
    values (
        'consumer.dropped',
        jsonb_build_object(
            'consumer', p_name, 'ordering', reader.ordering, 'partitions', reader.partition_count,
            'by', session_user, 'after', null,
            'before', jsonb_build_object('event_types', reader.event_types, 'filter', reader.filter)));
    perform postrider.ring('postrider', 'consumers');
    return true;
end;
$$;
