-- The workers whose queues RabbitMQ has to have, there or not.
-- Index: none, a table of a few rows.
select w.id
from postrider.worker w
where w.carrier = 'rabbitmq'
order by w.id;
