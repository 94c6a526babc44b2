-- The newest first.
-- $1: behind this one, or null; $2: how many.
-- Index: job_pkey.
select
    json_build_object(
        'id', j.id, 'kind', j.kind, 'endpoint_name', j.endpoint_name, 'filter', j.filter, 'rate', j.rate,
        'state', j.state, 'done_count', j.done_count, 'held_count', j.held_count, 'estimate', j.estimate,
        'has_more', j.has_more, 'created_by', j.created_by, 'created_at', j.created_at,
        'finished_at', j.finished_at, 'last_error', j.last_error) as item,
    j.id::text as key
from postrider.jobs j
where j.id < coalesce($1::text::bigint, 9223372036854775807)
order by j.id desc
limit $2::bigint;
