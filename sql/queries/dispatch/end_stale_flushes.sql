-- See postrider.end_stale_flushes.
select postrider.end_stale_flushes($1, $2) as answer;
