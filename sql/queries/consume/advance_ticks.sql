-- See postrider.advance_ticks.
select t.is_made, t.interval_ms
from postrider.advance_ticks() t;
