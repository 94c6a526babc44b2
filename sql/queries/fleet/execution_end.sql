-- $1: an id. How it ended, or nothing while it has not.
-- Index: execution_end_final.
select f.status, f.reason, f.result::text as result, f.error::text as error
from postrider.execution_end f
where f.execution_id = $1::bigint
and f.is_final;
