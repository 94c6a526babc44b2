-- postrider.send_batch(endpoint, payloads) → the messages' ids, in the order of the payloads
--
-- Producer, application, admin. The short form of send_batch_with_priority.
create or replace function postrider.send_batch(p_endpoint_name text, p_payloads jsonb[])
returns bigint[]
language sql
as $$
    select postrider.send_batch_with_priority(p_endpoint_name, p_payloads);
$$;
