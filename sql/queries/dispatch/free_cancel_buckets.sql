-- Those of these buckets in which no cancellation is under way.
--   $1 smallint[]: buckets
-- Index: cancel_bucket_pkey.
select b.bucket
from postrider.cancel_bucket b
where b.bucket = any ($1)
for update skip locked;
