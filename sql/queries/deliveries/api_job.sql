-- $1: its id.
-- Index: job_pkey.
select
    json_build_object(
        'id', j.id, 'kind', j.kind, 'endpoint_name', j.endpoint_name, 'filter', j.filter, 'rate', j.rate,
        'state', j.state, 'done_count', j.done_count, 'held_count', j.held_count, 'estimate', j.estimate,
        'has_more', j.has_more, 'created_by', j.created_by, 'created_at', j.created_at,
        'finished_at', j.finished_at, 'last_error', j.last_error) as item
from postrider.jobs j
where j.id = $1::bigint;
