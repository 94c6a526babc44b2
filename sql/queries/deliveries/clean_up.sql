-- See postrider.forget_dead_letters, postrider.forget_events, postrider.forget_jobs and
-- postrider.forget_subscriptions.
select
    postrider.forget_dead_letters(10000) + postrider.forget_events(10000) + postrider.forget_jobs(10000)
    + postrider.forget_subscriptions(10000)
    as answer;
