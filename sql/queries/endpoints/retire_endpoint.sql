-- See postrider.retire_endpoint.
select *
from postrider.retire_endpoint($1, $2) as answer;
