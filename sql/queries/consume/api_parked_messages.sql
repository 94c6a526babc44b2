-- The newest first.
-- $1: behind this one, or null; $2: how many.
-- Index: parked_message_pkey.
select
    json_build_object(
        'id', p.id, 'consumer_name', p.consumer_name, 'position', p.position, 'message_id', p.message_id,
        'transaction_id', p.transaction_id, 'tick', p.tick, 'partition', p.partition,
        'message_type', p.message_type, 'ordering_key', p.ordering_key, 'attempt_count', p.attempt_count,
        'last_error', p.last_error, 'parked_at', p.parked_at, 'created_at', p.created_at,
        'correlation_id', p.correlation_id) as item,
    p.id::text as key
from postrider.parked_messages p
where p.id < coalesce($1::text::bigint, 9223372036854775807)
order by p.id desc
limit $2::bigint;
