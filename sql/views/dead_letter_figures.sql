-- postrider.dead_letter_figures: what was dead-lettered, by hour, worker, action, reason and outcome
--
-- Admin, operator, monitor. From rolled-up figures, a few seconds behind (roll_up_executions).
create or replace view postrider.dead_letter_figures as
select
    s.hour, w.name as worker, nullif(s.worker_id, 0) as worker_id, nullif(s.action, '') as action,
    nullif(s.reason, '') as reason, s.outcome, s.carrier, s.letter_count
from postrider.dead_letter_statistics s
left join postrider.worker w on w.id = s.worker_id;
