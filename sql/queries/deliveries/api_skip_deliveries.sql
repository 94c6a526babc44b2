select row_to_json(r) as item
from postrider.skip_matching_deliveries(
    p_reason => $1::text,
    p_endpoint_name => $2::text,
    p_from => $3::text::timestamptz,
    p_to => $4::text::timestamptz,
    p_error_pattern => $5::text,
    p_event_type => $6::text,
    p_ordering_key => $7::text,
    p_rate => $8::integer) r;
