-- How many executions were completed, among those from $1 (an id) on, and how many of them were started
-- a second, between the first start and the last.
select
    count(*),
    count(*)::float8
        / nullif(extract(epoch from max(e.started_at) - min(e.started_at)), 0)::float8
from postrider.execution_end e
where e.is_final
and e.status = 'completed'
and e.execution_id >= $1;
