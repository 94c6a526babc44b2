-- postrider.fail_delivery(message_id, endpoint, reason) → how many dead letters were made
--
-- Operator, admin. What waits becomes a dead letter with the cause `operator` and this reason: the delivery to this
-- endpoint, or, with a null endpoint, all of the message. What is behind it of its ordering key goes on. Counts from
-- the commit of the caller's transaction: until then nothing is attempted of it, and after it neither. Logged in
-- event_log. Raises what hold_deliveries does, 22004 (a null reason), 22023 (its length).
create or replace function postrider.fail_delivery(
    p_message_id bigint, p_endpoint_name text, p_reason text)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    held record;
begin
    perform postrider.check_reason(p_reason);
    select array_agg(h.place) as places, array_agg(h.endpoint_name) as names
    into held
    from postrider.hold_deliveries('fail_delivery', p_message_id, p_endpoint_name) h;
    perform postrider.end_deliveries(held.places, 'fail', p_reason);
    perform postrider.note_verb('fail', p_message_id, held.names, p_reason);
    return cardinality(held.places);
end;
$$;
