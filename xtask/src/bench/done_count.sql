-- How many messages are on record as delivered, among those numbered from $1 (a bucket) on.
select coalesce(sum(octet_length(d.offsets)), 0)::bigint / 2
from postrider.done d
where d.bucket >= $1;
