-- Index: none, all of them are read.
select t.name
from postrider.event_types t
order by t.name
limit 10000;
