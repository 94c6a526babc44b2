-- postrider.jobs: what verbs over many rows have left to dispatchers
--
-- Admin, operator, monitor. Uses job_pkey.
create or replace view postrider.jobs as
select
    j.id, j.kind, j.endpoint_name, j.filter, j.rate, j.state, j.done_count, j.held_count, j.estimate,
    j.has_more, j.created_by, j.created_at, j.finished_at, j.last_error
from postrider.job j;
