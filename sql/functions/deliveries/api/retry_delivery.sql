-- postrider.retry_delivery(message_id, endpoint) → how many deliveries are due now
--
-- Operator, admin. What waits for a retry is due at once: the delivery to this endpoint, or all of the message. No
-- retry is used up. Counts from the commit of the caller's transaction. Logged in event_log. Raises what
-- hold_deliveries does, and 55000 for one that waits for another one of its ordering key, or for the time that its
-- sender gave it.
create or replace function postrider.retry_delivery(
    p_message_id bigint, p_endpoint_name text default null)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    held record;
    waits record;
begin
    select array_agg(h.place) as places, array_agg(h.endpoint_name) as names
    into held
    from postrider.hold_deliveries('retry_delivery', p_message_id, p_endpoint_name) h;
    select
        d.is_blocked, m.scheduled_at, d.ordering_key,
        coalesce(e.name, d.endpoint_id::text) as endpoint_name
    into waits
    from postrider.deferred d
    left join postrider.endpoints e on e.id = d.endpoint_id
    left join lateral (
        select k.scheduled_at
        from postrider.message k
        where k.id = d.message_id
    ) m on true
    where d.ctid = any (held.places)
    and (d.is_blocked or d.run_at > clock_timestamp() and m.scheduled_at > clock_timestamp())
    limit 1;
    if waits.is_blocked then
        raise exception
            'The delivery of message % to endpoint ''%'' waits for an earlier one of its ordering key',
            p_message_id, waits.endpoint_name
            using errcode = '55000', hint = 'Retry, fail or skip the earlier one: see blocked_keys.';
    end if;
    if waits.scheduled_at is not null then
        raise exception 'Message % is scheduled for %', p_message_id, waits.scheduled_at
            using errcode = '55000', hint = 'It is for its sender to say when it may go.';
    end if;
    update postrider.deferred d
    set run_at = least(d.run_at, clock_timestamp())
    where d.ctid = any (held.places);
    perform postrider.note_verb('retry', p_message_id, held.names, null);
    perform postrider.ring('postrider', 'deferred');
    return cardinality(held.places);
end;
$$;
