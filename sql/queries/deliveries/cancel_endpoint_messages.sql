select c.job_id, c.estimate, c.has_more
from postrider.cancel_endpoint_messages($1::text) c;
