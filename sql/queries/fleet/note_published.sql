-- See postrider.note_published.
select postrider.note_published($1, $2, $3) as published;
