-- See postrider.is_foreign.
select postrider.is_foreign() as answer;
