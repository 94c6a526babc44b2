-- Index: none, the view has its own.
select distinct c.name
from postrider.consumers c
order by c.name
limit 10000;
