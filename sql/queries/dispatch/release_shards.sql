-- See postrider.release_shards.
select *
from postrider.release_shards(
    $1, $2, $3
);
