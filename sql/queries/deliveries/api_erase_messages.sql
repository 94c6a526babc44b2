select row_to_json(r) as item
from postrider.erase_messages(
    p_ordering_key => $1::text,
    p_correlation_id => $2::uuid,
    p_metadata => $3::text::jsonb,
    p_event_type => $4::text,
    p_from => $5::text::timestamptz,
    p_to => $6::text::timestamptz) r;
