-- See postrider.take_shards.
select *
from postrider.take_shards(
    $1, $2, $3, $4
);
