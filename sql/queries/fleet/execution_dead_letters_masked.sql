-- The same as execution_dead_letters for who may not read what was in them.
-- What was dead-lettered, the newest first. Of a body that nobody could read: its length and how it begins.
--   $1 text: an outcome, or null   $2 bigint: at most so many   $3 bigint: with an id below this one, or null
-- Walks the table from its newest row. Index: execution_dead_letter_pkey.
select json_build_object(
    'id', d.id, 'at', d.at, 'outcome', d.outcome, 'carrier', d.carrier,
    'execution_id', d.execution_id, 'attempt', d.attempt, 'worker', w.name, 'action', d.action,
    'reason', d.reason, 'body_bytes', null,
    'body_start', null, 'x_death', null, 'details', null)
from postrider.execution_dead_letter d
left join postrider.worker w on w.id = d.worker_id
where (d.outcome = $1::text or $1::text is null)
and (d.id < $3::bigint or $3::bigint is null)
order by d.id desc
limit $2::bigint;
