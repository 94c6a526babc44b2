-- The workers whose queues RabbitMQ has to have, there or not, and where what they get waits until then.
-- Index: none, a table of a few rows.
select
    w.id,
    postrider.execution_queue(w.id, null) as own_queue,
    postrider.execution_queue(null, w.pool) as pool_queue
from postrider.worker w
where w.carrier = 'rabbitmq'
order by w.id;
