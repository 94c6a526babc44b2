-- See postrider.retire_failing_endpoints.
select *
from postrider.retire_failing_endpoints() as answer;
