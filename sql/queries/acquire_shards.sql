-- See postrider.acquire_shards.
select *
from postrider.acquire_shards(
    $1, $2, $3, $4
);
