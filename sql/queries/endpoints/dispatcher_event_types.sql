-- The policies of event types that have one of their own.
-- Index: event_types_retry_policy.
select t.name, t.metadata -> '_retry_policy'
from postrider.event_types t
where t.metadata ? '_retry_policy'
order by t.name;
