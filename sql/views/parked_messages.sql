-- postrider.parked_messages: messages that a consumer has passed because it could not process them
--
-- Admin, operator, application; monitor without what an application wrote. Needs nothing but the parked message,
-- so it outlives the log's partition. Uses parked_message_pkey, parked_message_consumer_id_message_id_key.
create or replace view postrider.parked_messages as
select
    k.id, c.name as consumer_name, k.message_id >> 10 as "position", k.message_id,
    k.xid as transaction_id, k.tick, k.partition::integer as partition, k.attempt_count, k.last_error,
    k.parked_at, k.created_at, k.event_type as message_type, k.payload as data, k.headers, k.metadata,
    k.scheduled_at as scheduled, k.ordering_key, k.correlation_id, k.body, k.content_type
from postrider.parked_message k
join postrider.consumer c on c.id = k.consumer_id;
