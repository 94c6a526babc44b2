-- Index: none, all of them are read.
select e.name
from postrider.endpoints e
order by e.name
limit 10000;
