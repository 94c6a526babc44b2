-- See postrider.retire_signing_keys.
select *
from postrider.retire_signing_keys() as answer;
