-- postrider.dlq: dead letters, those that were redriven included
--
-- Admin, operator, application; monitor without what an application wrote. Needs nothing but the dead letter, so
-- it outlives the log's partition and the endpoint. Uses dead_letter_pkey, dead_letter_endpoint_name,
-- dead_letter_message.
create or replace view postrider.dlq as
select
    l.id, l.message_id, l.endpoint_name, l.status, l.cause, l.retry_count, l.last_error,
    l.error_history, l.failed_at, l.redriven_at, l.redriven_by, l.message_created_at as created_at,
    l.correlation_id, l.priority, l.event_type, l.ordering_key, l.headers, l.metadata, l.payload,
    l.body, l.content_type, l.target
from postrider.dead_letter l;
