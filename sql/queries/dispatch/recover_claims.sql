-- See postrider.recover_claims.
select *
from postrider.recover_claims(
    $1, $2, $3, $4, $5, $6
);
