-- See postrider.forget_dead_letters and postrider.forget_events.
select postrider.forget_dead_letters(10000) + postrider.forget_events(10000) as answer;
