-- See postrider.roll_up_executions: as many as one call can do in a fraction of a second, and not oftener
-- than every 4 seconds however many dispatchers there are.
select postrider.roll_up_executions(50000, interval '4 seconds') as answer;
