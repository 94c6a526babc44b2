-- See postrider.save_checkpoint.
select *
from postrider.save_checkpoint(
    $1, $2, $3, $4, $5, $6, $7
);
