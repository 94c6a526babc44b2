-- The sequence numbers that nobody was given (advance_sequences, use_up_numbers): a row for each time that the log was adopted,
-- and for a failover that took back millions.
-- Index: none, for it has few rows.
select g.after_number, g.last_number
from postrider.number_gap g;
