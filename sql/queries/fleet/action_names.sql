-- Index: none, all of them are read.
select a.name
from postrider.action a
order by a.name
limit 10000;
