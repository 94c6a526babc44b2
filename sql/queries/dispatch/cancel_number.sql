-- How many cancellations have begun.
-- Index: none, a sequence.
select s.last_value - (not s.is_called)::integer as number
from postrider.cancel_sequence s;
