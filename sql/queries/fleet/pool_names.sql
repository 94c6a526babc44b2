-- Index: none, all of them are read.
select distinct w.pool
from postrider.worker w
order by w.pool
limit 10000;
