-- See postrider.health_check.
select json_build_object(
    'component', h.component, 'status', h.status, 'details', h.details, 'checked_at', h.checked_at)
from postrider.health_check() h;
