-- See postrider.recover_waiting.
select *
from postrider.recover_waiting(
    $1, $2, $3, $4, $5, $6
);
