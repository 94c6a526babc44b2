-- See postrider.unregister_dispatcher.
select *
from postrider.unregister_dispatcher(
    $1
);
