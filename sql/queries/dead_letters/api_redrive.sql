select row_to_json(r) as item
from postrider.redrive_matching(
    p_endpoint_name => $1::text,
    p_from => $2::text::timestamptz,
    p_to => $3::text::timestamptz,
    p_error_pattern => $4::text,
    p_cause => $5::text,
    p_event_type => $6::text,
    p_rate => $7::integer) r;
