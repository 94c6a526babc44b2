select d.job_id, d.estimate, d.has_more
from postrider.drop_endpoint($1::text, $2::boolean) d;
