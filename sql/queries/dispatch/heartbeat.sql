-- See postrider.heartbeat.
select *
from postrider.heartbeat(
    $1, $2, $3, $4
);
