-- See postrider.take_tokens.
select *
from postrider.take_tokens($1, $2, $3, $4);
