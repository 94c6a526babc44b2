-- See postrider.end_stale_flushes.
select postrider.end_stale_flushes() as answer;
