-- How many shards the log has.
select postrider.shard_count();
