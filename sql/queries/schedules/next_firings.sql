-- $1: the schedule's name. $2: how many.
select to_json(n.at) #>> '{}'
from postrider.next_firings($1::text, $2::integer) n (at);
