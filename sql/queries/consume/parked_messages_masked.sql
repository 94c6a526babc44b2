-- The same as parked_messages for who may not read what was in them.
-- $1: a consumer's name or null, $2: how many. The newest first.
-- Index: none, the view has its own.
select json_build_object(
    'id', p.id, 'consumer_name', p.consumer_name, 'position', p.position, 'message_id', p.message_id,
    'transaction_id', p.transaction_id, 'tick', p.tick, 'partition', p.partition,
    'message_type', p.message_type, 'ordering_key', p.ordering_key, 'attempt_count', p.attempt_count,
    'last_error', null, 'parked_at', p.parked_at, 'created_at', p.created_at,
    'correlation_id', p.correlation_id, 'data', null, 'content_type', p.content_type,
    'body_bytes', null)
from postrider.parked_messages p
where p.consumer_name = $1::text
or $1::text is null
order by p.id desc
limit $2::bigint;
