-- For a page that shows nothing. $1: an endpoint's name or null; $2: an event type or null.
select postrider.check_endpoint_name($1::text), postrider.check_event_type($2::text);
