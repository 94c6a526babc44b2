-- See postrider.note_broker.
select postrider.note_broker($1, $2, $3, $4);
