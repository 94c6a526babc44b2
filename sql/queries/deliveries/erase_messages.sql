-- Times, id and metadata are handed over as text, which the database reads.
select r.job_id, r.estimate, r.has_more
from postrider.erase_messages(
    $1::text, $2::text::uuid, $3::text::jsonb, $4::text, $5::text::timestamptz,
    $6::text::timestamptz) r;
