-- See postrider.register_dispatcher.
select *
from postrider.register_dispatcher(
    $1, $2, $3, $4
);
