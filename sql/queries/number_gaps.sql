-- The sequence numbers that nobody was given (advance_sequences): a row for each time that the log was adopted.
-- Index: none, for it has few rows.
select g.after_number, g.last_number
from postrider.number_gap g;
