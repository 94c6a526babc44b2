-- What draining is compared with: the same rows in the order of their ids.
declare log_reader cursor for
select m.*
from postrider.message m
order by m.id;
