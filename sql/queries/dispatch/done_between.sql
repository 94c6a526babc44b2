-- What is recorded as done in a range of buckets.
--   $1 bigint: first bucket   $2 bigint: last bucket
-- Index: done_run.
select d.bucket, d.offsets
from postrider.done d
where d.bucket between $1 and $2;
