-- See postrider.forget_dead_letters, postrider.forget_events and postrider.forget_jobs.
select
    postrider.forget_dead_letters(10000) + postrider.forget_events(10000) + postrider.forget_jobs(10000)
    as answer;
