-- See postrider.known_circuits.
select *
from postrider.known_circuits($1, true);
