-- Times are handed over as text, which the database reads.
select r.job_id, r.estimate, r.has_more
from postrider.skip_matching_deliveries(
    $1::text, $2::text, $3::text::timestamptz, $4::text::timestamptz,
    $5::text, $6::text, $7::text, $8::integer) r;
