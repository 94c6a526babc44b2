-- Times are handed over as text, which the database reads.
select r.job_id, r.estimate, r.has_more
from postrider.retry_matching_deliveries(
    $1::text, $2::text::timestamptz, $3::text::timestamptz, $4::text,
    $5::text, $6::text, $7::integer) r;
