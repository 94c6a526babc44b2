-- See postrider.advance_jobs.
select postrider.advance_jobs() as answer;
