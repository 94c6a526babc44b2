-- Every endpoint's version, to find those that changed.
-- Index: none, all rows are wanted.
select e.id, e.version
from postrider.endpoints e;
