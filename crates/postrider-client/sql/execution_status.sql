-- What has become of an execution. $1 execution.
select e.status from postrider.executions e where e.id = $1;
