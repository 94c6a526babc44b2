-- See postrider.update_full_endpoints.
select postrider.update_full_endpoints() as answer;
