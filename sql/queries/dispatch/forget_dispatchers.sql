-- See postrider.forget_dispatchers.
select postrider.forget_dispatchers() as answer;
