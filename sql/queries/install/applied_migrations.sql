-- Index: none, a row per migration.
select m.name
from postrider.migration m
order by m.version;
