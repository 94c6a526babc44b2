-- $1: how many. The newest first.
-- Index: none, the view has its own.
select json_build_object(
    'id', j.id, 'kind', j.kind, 'endpoint_name', j.endpoint_name, 'filter', j.filter, 'rate', j.rate,
    'state', j.state, 'done_count', j.done_count, 'held_count', j.held_count, 'estimate', j.estimate,
    'has_more', j.has_more, 'created_by', j.created_by, 'created_at', j.created_at,
    'finished_at', j.finished_at, 'last_error', j.last_error)
from postrider.jobs j
order by j.id desc
limit $1::bigint;
