-- Writes down what has become of executions; each one's status then, or null if it is not ours any more.
-- $1 what to write, $2 executions, $3 fences, $4 reasons, $5 results, errors or microseconds.
select
    n.position,
    case n.kind
        when 'complete' then
            case when postrider.complete_execution(n.execution, n.fence, n.value::jsonb)
                then 'completed'
            end
        when 'fail' then
            postrider.fail_execution(n.execution, n.fence, n.reason, n.value::jsonb)
        when 'release' then
            case when postrider.release_execution(n.execution, n.fence) then 'released' end
        when 'extend' then
            case
                when postrider.extend_execution(
                    n.execution, n.fence, n.value::bigint * interval '1 microsecond')
                then 'running'
            end
    end
from unnest($1, $2, $3, $4, $5)
    with ordinality n (kind, execution, fence, reason, value, position);
