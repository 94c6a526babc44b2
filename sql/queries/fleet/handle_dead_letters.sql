-- What became of each, in the order given. All of them in one transaction. See
-- postrider.handle_dead_letter.
select postrider.handle_dead_letter(d.execution_id, d.fence, d.x_death, d.details) as outcome
from unnest($1::bigint[], $2::bigint[], $3::jsonb[], $4::jsonb[]) d (execution_id, fence, x_death, details);
