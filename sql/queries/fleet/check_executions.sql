-- See postrider.check_executions.
select postrider.check_executions($1) as checked;
