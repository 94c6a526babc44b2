-- Batches of 1,000 messages, each in its own transaction, for the endpoints in turn.
do $do$
declare
    endpoint_names text[] := array(select e.name from postrider.endpoints e order by e.id);
    payload jsonb := current_setting('bench.payload');
    batch_count integer := current_setting('bench.message_count')::integer / 1000;
begin
    for batch in 0 .. batch_count - 1 loop
        perform postrider.send_batch(
            endpoint_names[1 + batch % cardinality(endpoint_names)],
            array_fill(payload, array[1000]));
        commit;
    end loop;
end;
$do$;
