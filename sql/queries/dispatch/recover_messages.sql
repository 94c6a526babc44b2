-- See postrider.recover_messages.
select *
from postrider.recover_messages(
    $1, $2, $3, $4, true, $5, $6
);
