-- How many shards the log has, and its newest sequence number.
-- Index: none, for it reads no table.
select postrider.shard_count() as shard_count, s.last_value as newest_number
from postrider.message_sequence s;
