-- Hears of executions, and of those to cancel.
listen "postrider:executions";
