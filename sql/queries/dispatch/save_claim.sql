-- See postrider.save_claim.
select *
from postrider.save_claim(
    $1, $2, $3, $4, $5, $6
);
