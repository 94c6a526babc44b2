-- For a page that shows nothing. $1: an endpoint's name or null; $2: an event type, a pattern, which need not exist, or null.
select
    postrider.check_endpoint_name($1::text),
    postrider.check_event_type(case when position('*' in $2::text) = 0 then $2::text end);
