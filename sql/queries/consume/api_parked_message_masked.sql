-- $1: its id.
-- Index: parked_message_pkey.
select
    json_build_object(
        'id', p.id, 'consumer_name', p.consumer_name, 'position', p.position, 'message_id', p.message_id,
        'transaction_id', p.transaction_id, 'tick', p.tick, 'partition', p.partition,
        'message_type', p.message_type, 'ordering_key', p.ordering_key, 'attempt_count', p.attempt_count,
        'parked_at', p.parked_at, 'created_at', p.created_at, 'correlation_id', p.correlation_id) as item
from postrider.parked_messages p
where p.id = $1::bigint;
