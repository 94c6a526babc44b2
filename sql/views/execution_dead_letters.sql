-- postrider.execution_dead_letters: executions that nobody started in time, and what else came out of the
-- dead letter queue
--
-- Admin, operator, application, monitor (without x_death, body and details).
create or replace view postrider.execution_dead_letters as
select
    d.id, d.at, d.outcome, d.carrier, d.execution_id, d.attempt, w.name as worker, d.worker_id,
    d.action, d.reason, d.x_death, d.body, d.details
from postrider.execution_dead_letter d
left join postrider.worker w on w.id = d.worker_id;
