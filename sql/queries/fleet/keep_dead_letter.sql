-- See postrider.keep_dead_letter.
select postrider.keep_dead_letter($1, $2, $3);
