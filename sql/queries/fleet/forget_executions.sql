-- See postrider.forget_executions.
select postrider.forget_executions(10000) as answer;
