-- Notes that a batch is begun, so that one whose process dies counts, too. In a transaction of its own.
-- $1 consumer, $2 partition, $3 batch size. How many messages to ask for, and how many batches have come
-- to nothing at this position.
select b.batch_size, b.failure_count
from postrider.begin_batch(p_consumer => $1, p_partition => $2, p_batch_size => $3) b;
