-- $1: a name in a filter, or null.
select postrider.check_event_type($1::text);
