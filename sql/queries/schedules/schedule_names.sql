-- Index: none, schedules are few.
select s.name
from postrider.schedules s
order by s.name
limit 10000;
