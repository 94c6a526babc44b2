-- The next messages. $1 consumer, $2 limit, $3 wait in microseconds, $4 partition.
--
-- Types that every driver knows without a look-up.
select
    m."position", m.transaction_id::text, m.message_id, m.message_type, m.data::text, m.headers::text,
    m.metadata::text, m.scheduled, m.tick, m.created_at, m.ordering_key, m.correlation_id::text, m.body,
    m.content_type
from postrider.fetch_messages(
    p_consumer => $1,
    p_limit => $2,
    p_wait => $3 * interval '1 microsecond',
    p_partition => $4) m;
