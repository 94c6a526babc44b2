-- Index: none, all of them are read.
select w.name
from postrider.worker w
order by w.name
limit 10000;
