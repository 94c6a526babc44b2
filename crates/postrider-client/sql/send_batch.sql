-- One message for each payload, all or nothing. $1 endpoint, $2 payloads, $3 priority.
select postrider.send_batch_with_priority(
    p_endpoint_name => $1,
    p_payloads => $2::jsonb[],
    p_priority => $3
);
