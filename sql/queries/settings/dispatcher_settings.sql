-- The settings that a dispatcher follows: all of them, and it picks.
-- Index: none, a table of a few rows.
select s.name, s.value
from postrider.setting s;
